#pragma once
#include "tests/lab/cuda/fake/stream.h"

#include <memory>
#include <string>
#include <thread>
#include <vector>

/// Stream capture and graphs. A graph keeps the dependencies that streams and events gave it and
/// nothing more: a launch runs its nodes in an order of the schedule's choice that respects them.
namespace fakecuda {

struct Node {
  std::string what;
  DeviceWork work;
  std::vector<std::size_t> after;
};

struct Capture {
  CUstream_st* origin = nullptr;  ///< null once the capture has ended
  cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
  std::thread::id thread;
  bool invalid = false;
  std::vector<CUstream_st*> streams;  ///< that take part
  std::vector<Node> nodes;
};

void add_node(CUstream_st& stream, std::string what, DeviceWork work);
/// Makes a captured stream follow a captured event; both must belong to the same capture.
void join_capture(CUstream_st& stream, const CUevent_st& event);

[[nodiscard]] cudaError_t begin_capture(CUstream_st& stream, cudaStreamCaptureMode mode);
[[nodiscard]] cudaError_t end_capture(CUstream_st& stream, std::vector<Node>& nodes);

/// A call that a capture in progress forbids: breaks the capture, says so on stderr, and returns
/// the code that the call must return; cudaSuccess if nothing forbids it.
[[nodiscard]] cudaError_t forbidden_by_capture(std::string_view call);
/// Checks calls that wait for one stream.
[[nodiscard]] cudaError_t forbidden_by_capture(std::string_view call, CUstream_st& stream);

/// One launch of a graph: runs every node once.
class GraphRun {
 public:
  explicit GraphRun(std::shared_ptr<const std::vector<Node>> nodes);
  /// Runs all nodes that it can; false if the rest waits for other processes.
  bool advance();

 private:
  std::shared_ptr<const std::vector<Node>> nodes_;
  std::vector<std::size_t> missing_;  ///< predecessors of each node that have not run
  std::vector<std::vector<std::size_t>> followers_;
  std::vector<std::size_t> ready_;
};

}  // namespace fakecuda

struct CUgraph_st {
  std::vector<fakecuda::Node> nodes;
};
struct CUgraphExec_st {
  std::shared_ptr<const std::vector<fakecuda::Node>> nodes;
};
