#include "framework/runtime/cuda/graph.h"

#include "framework/core/log.h"
#include "framework/runtime/cuda/api_error.h"
#include "framework/runtime/cuda/watch.h"

#include <cuda_runtime_api.h>

#include <exception>
#include <memory>

namespace learn::cuda {
namespace {

struct DestroyGraph {
  void operator()(cudaGraph_t graph) const noexcept { (void)cudaGraphDestroy(graph); }
};
using OwnGraph = std::unique_ptr<CUgraph_st, DestroyGraph>;

OwnGraph capture(Stream stream, FunctionRef<void()> enqueue) {
  // For this thread only: others may prepare data meanwhile.
  check_api(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  cudaGraph_t graph = nullptr;
  try {
    enqueue();
  } catch (...) {
    (void)cudaStreamEndCapture(stream, &graph);
    forget_last_error();
    const OwnGraph discarded(graph);
    throw;
  }
  check_api(cudaStreamEndCapture(stream, &graph));
  return OwnGraph(graph);
}

}  // namespace

Graph::Graph(Stream stream, FunctionRef<void()> enqueue) : stream_(stream) {
  check_api(cudaGetDevice(&device_));
  const OwnGraph graph = capture(stream, enqueue);
  check_api(cudaGraphGetNodes(graph.get(), nullptr, &nodes_));
  check_api(cudaGraphInstantiate(&exec_, graph.get(), 0));
}

Graph::~Graph() {
  try {
    wait_for(device_, stream_);  // a launch of it may be on its way
  } catch (const std::exception& error) {
    log::debug("[cuda] a graph is destroyed after: {}", error.what());
  }
  (void)cudaGraphExecDestroy(exec_);
}

void Graph::launch() const {
  // After an abort the work of the graph uses memory that is gone.
  if (const std::shared_ptr<Watch> watch = watch_of(device_); watch != nullptr) watch->poll({});
  check_api(cudaGraphLaunch(exec_, stream_));
}

}  // namespace learn::cuda
