#include "tests/lab/cuda/fake/capture.h"

#include "tests/lab/cuda/fake/stop.h"

#include <algorithm>
#include <cstdio>

namespace fakecuda {
namespace {

/// Captures in progress.
std::vector<std::shared_ptr<Capture>>& captures() {
  static auto& all = *new std::vector<std::shared_ptr<Capture>>;
  return all;
}

void break_capture(Capture& capture, std::string_view call) {
  capture.invalid = true;
  fmt::print(stderr, "FAKE CUDA: {} while a stream is being captured\n", call);
}

std::vector<std::size_t> union_of(std::vector<std::size_t> a, const std::vector<std::size_t>& b) {
  a.insert(a.end(), b.begin(), b.end());
  std::sort(a.begin(), a.end());
  a.erase(std::unique(a.begin(), a.end()), a.end());
  return a;
}

/// True if `later` follows every one of `earlier`, directly or not.
bool follows(const std::vector<Node>& nodes,
             const std::vector<std::size_t>& later,
             const std::vector<std::size_t>& earlier) {
  std::vector<bool> reached(nodes.size(), false);
  std::vector<std::size_t> open = later;
  while (!open.empty()) {
    const std::size_t node = open.back();
    open.pop_back();
    if (reached[node]) continue;
    reached[node] = true;
    open.insert(open.end(), nodes[node].after.begin(), nodes[node].after.end());
  }
  return std::all_of(earlier.begin(), earlier.end(), [&](std::size_t n) { return reached[n]; });
}

}  // namespace

void add_node(CUstream_st& stream, std::string what, DeviceWork work) {
  Capture& capture = *stream.capture;
  capture.nodes.push_back({std::move(what), std::move(work), stream.tips});
  stream.tips = {capture.nodes.size() - 1};
}

void join_capture(CUstream_st& stream, const CUevent_st& event) {
  if (stream.capture == nullptr) {
    stream.capture = event.capture;
    stream.tips.clear();
    event.capture->streams.push_back(&stream);
  }
  if (stream.capture != event.capture) stop("cudaStreamWaitEvent joins two captures");
  stream.tips = union_of(std::move(stream.tips), event.tips);
}

cudaError_t begin_capture(CUstream_st& stream, cudaStreamCaptureMode mode) {
  if (&stream == &stream_of(nullptr)) return cudaErrorStreamCaptureUnsupported;
  if (stream.capture != nullptr) return cudaErrorIllegalState;
  stream.capture = std::make_shared<Capture>();
  stream.capture->origin = &stream;
  stream.capture->mode = mode;
  stream.capture->thread = std::this_thread::get_id();
  stream.capture->streams = {&stream};
  stream.tips.clear();
  captures().push_back(stream.capture);
  return cudaSuccess;
}

cudaError_t end_capture(CUstream_st& stream, std::vector<Node>& nodes) {
  const std::shared_ptr<Capture> capture = stream.capture;
  if (capture == nullptr) return cudaErrorIllegalState;
  if (capture->origin != &stream) {
    capture->invalid = true;
    return cudaErrorStreamCaptureUnmatched;
  }
  bool joined = true;
  for (CUstream_st* one : capture->streams) {
    joined &= follows(capture->nodes, stream.tips, one->tips);
    one->capture = nullptr;
  }
  std::erase(captures(), capture);
  capture->origin = nullptr;
  if (capture->invalid) return cudaErrorStreamCaptureInvalidated;
  if (!joined) return cudaErrorStreamCaptureUnjoined;
  nodes = std::move(capture->nodes);
  return cudaSuccess;
}

cudaError_t forbidden_by_capture(std::string_view call) {
  for (const auto& capture : captures())
    if (capture->mode == cudaStreamCaptureModeGlobal ||
        (capture->mode == cudaStreamCaptureModeThreadLocal &&
         capture->thread == std::this_thread::get_id())) {
      break_capture(*capture, call);
      return cudaErrorStreamCaptureUnsupported;
    }
  return cudaSuccess;
}

cudaError_t forbidden_by_capture(std::string_view call, CUstream_st& stream) {
  if (stream.capture == nullptr) return cudaSuccess;
  break_capture(*stream.capture, call);
  return cudaErrorStreamCaptureUnsupported;
}

GraphRun::GraphRun(std::shared_ptr<const std::vector<Node>> nodes)
    : nodes_(std::move(nodes)), missing_(nodes_->size()), followers_(nodes_->size()) {
  for (std::size_t i = 0; i < nodes_->size(); ++i) {
    const auto& after = (*nodes_)[i].after;
    missing_[i] = after.size();
    for (const std::size_t before : after) followers_[before].push_back(i);
    if (missing_[i] == 0) ready_.push_back(i);
  }
}

bool GraphRun::advance() {
  std::vector<std::size_t> waiting;
  while (!ready_.empty()) {
    std::size_t pick = 0;
    if (schedule().order == Order::late) pick = ready_.size() - 1;
    if (schedule().order == Order::random) pick = schedule().random() % ready_.size();
    const std::size_t node = ready_[pick];
    ready_.erase(ready_.begin() + static_cast<std::ptrdiff_t>(pick));
    if (!(*nodes_)[node].work.run()) {
      waiting.push_back(node);
      continue;
    }
    for (const std::size_t next : followers_[node])
      if (--missing_[next] == 0) ready_.push_back(next);
  }
  ready_ = std::move(waiting);
  return ready_.empty();
}

}  // namespace fakecuda
