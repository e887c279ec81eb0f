#include "tests/lab/cuda/fake/api_error.h"
#include "tests/lab/cuda/fake/capture.h"
#include "tests/lab/cuda/fake/refusal.h"
#include "tests/lab/cuda/fake/stop.h"
#include "tests/lab/cuda/fake/stream.h"
#include "tests/lab/cuda/fake/survey.h"

#include <cuda_runtime_api.h>

using namespace fakecuda;

namespace {

bool same_shape(const std::vector<Node>& a, const std::vector<Node>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (a[i].what != b[i].what || a[i].after != b[i].after) return false;
  return true;
}

}  // namespace

// The names are CUDA's.
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" {

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  const std::lock_guard guard(api_mutex());
  return report(begin_capture(stream_of(stream), mode));
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  const std::lock_guard guard(api_mutex());
  std::vector<Node> nodes;
  cudaError_t code = end_capture(stream_of(stream), nodes);
  if (is_refused("cudaStreamEndCapture")) code = cudaErrorStreamCaptureInvalidated;
  *graph = code == cudaSuccess ? new CUgraph_st{std::move(nodes)} : nullptr;
  return report(code);
}
cudaError_t cudaStreamIsCapturing(cudaStream_t handle, cudaStreamCaptureStatus* status) {
  const std::lock_guard guard(api_mutex());
  const CUstream_st& stream = stream_of(handle);
  *status = stream.capture == nullptr ? cudaStreamCaptureStatusNone
            : stream.capture->invalid ? cudaStreamCaptureStatusInvalidated
                                      : cudaStreamCaptureStatusActive;
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long) {
  if (is_refused("cudaGraphInstantiate")) return report(cudaErrorMemoryAllocation);
  *exec = new CUgraphExec_st{std::make_shared<const std::vector<Node>>(graph->nodes)};
  return cudaSuccess;
}
cudaError_t cudaGraphUpload(cudaGraphExec_t, cudaStream_t) { return cudaSuccess; }
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  if (is_refused("cudaGraphLaunch")) return report(cudaErrorMemoryAllocation);
  DeviceWork work;
  for (const Node& node : *exec->nodes)
    if (node.work.launched != nullptr) {
      node.work.launched();
      work.launched = node.work.launched;
    }
  work.run = [run = std::make_shared<GraphRun>(exec->nodes), begun = false]() mutable {
    if (!begun) begin_graph();
    begun = true;
    if (!run->advance()) return false;
    end_graph();
    return true;
  };
  enqueue(stream, "graph", std::move(work));
  return cudaSuccess;
}
cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec,
                                cudaGraph_t graph,
                                cudaGraphExecUpdateResultInfo* info) {
  const std::lock_guard guard(api_mutex());
  *info = {};
  if (!same_shape(*exec->nodes, graph->nodes)) {
    info->result = cudaGraphExecUpdateErrorTopologyChanged;
    return report(cudaErrorGraphExecUpdateFailure);
  }
  info->result = cudaGraphExecUpdateSuccess;
  exec->nodes = std::make_shared<const std::vector<Node>>(graph->nodes);
  return cudaSuccess;
}
/// Only the number of nodes is modelled.
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, std::size_t* count) {
  if (nodes != nullptr) stop("cudaGraphGetNodes: handles of nodes are not modelled");
  *count = graph->nodes.size();
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  delete exec;
  return cudaSuccess;
}

}  // extern "C"
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
