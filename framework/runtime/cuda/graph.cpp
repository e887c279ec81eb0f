#include "framework/runtime/cuda/graph.h"

#include "framework/runtime/cuda/api_error.h"

#include <cuda_runtime_api.h>

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
  const OwnGraph graph = capture(stream, enqueue);
  check_api(cudaGraphGetNodes(graph.get(), nullptr, &nodes_));
  check_api(cudaGraphInstantiate(&exec_, graph.get(), 0));
}

Graph::~Graph() {
  (void)cudaStreamSynchronize(stream_);  // a launch of it may be on its way
  (void)cudaGraphExecDestroy(exec_);
}

void Graph::launch() const { check_api(cudaGraphLaunch(exec_, stream_)); }

}  // namespace learn::cuda
