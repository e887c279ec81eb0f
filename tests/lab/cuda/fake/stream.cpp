#include "tests/lab/cuda/fake/stream.h"

#include "tests/lab/cuda/fake/capture.h"
#include "tests/lab/cuda/fake/device.h"
#include "tests/lab/cuda/fake/stop.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string_view>

namespace fakecuda {
namespace {

Schedule read_schedule() {
  const char* const text = std::getenv("FAKE_CUDA_STREAMS");
  const std::string_view word = text == nullptr ? "now" : text;
  if (word == "now") return {};
  if (word == "late") return {.order = Order::late};
  if (word.starts_with("rand:") && word.size() > 5 &&
      word.find_first_not_of("0123456789", 5) == std::string_view::npos)
    return {.order = Order::random,
            .random = std::mt19937(static_cast<unsigned>(std::stoul(std::string(word.substr(5)))))};
  stop("FAKE_CUDA_STREAMS is '{}'; known: now, late, rand:SEED", word);
}

struct Everything {
  CUstream_st legacy{.blocking = true};
  std::vector<std::unique_ptr<CUstream_st>> streams;
  std::vector<std::unique_ptr<CUevent_st>> events;
};

Everything& everything() {
  static Everything& all = *new Everything;
  return all;
}

double now_ms() {
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// Other streams get on with their work between two calls of the host.
void run_some_at_random() {
  auto& random = schedule().random;
  auto& streams = everything().streams;
  while (!streams.empty() && random() % 3 == 0) run_one(*streams[random() % streams.size()]);
}

}  // namespace

Schedule& schedule() {
  static Schedule& the_schedule = *new Schedule(read_schedule());
  return the_schedule;
}

std::recursive_mutex& api_mutex() {
  static std::recursive_mutex& mutex = *new std::recursive_mutex;
  return mutex;
}

CUstream_st& stream_of(cudaStream_t handle) {
  auto& all = everything();
  if (handle == nullptr || handle == cudaStreamLegacy) return all.legacy;
  for (const auto& stream : all.streams)
    if (stream.get() == handle) return *stream;
  stop("{} is not a stream, or one that was destroyed", static_cast<const void*>(handle));
}

CUevent_st& event_of(cudaEvent_t handle) {
  for (const auto& event : everything().events)
    if (event.get() == handle) return *event;
  stop("{} is not an event, or one that was destroyed", static_cast<const void*>(handle));
}

cudaStream_t create_stream(bool blocking) {
  auto& streams = everything().streams;
  streams.push_back(std::make_unique<CUstream_st>());
  streams.back()->blocking = blocking;
  streams.back()->device = current_device();
  return streams.back().get();
}

void destroy_stream(cudaStream_t handle) {
  drain(stream_of(handle));
  std::erase_if(everything().streams, [&](const auto& stream) { return stream.get() == handle; });
}

cudaEvent_t create_event() {
  auto& events = everything().events;
  events.push_back(std::make_unique<CUevent_st>());
  return events.back().get();
}

void destroy_event(cudaEvent_t handle) {
  CUevent_st& event = event_of(handle);
  drain_event(event, event.recorded);
  // Waits that are already satisfied may still name it.
  for (const auto& stream : everything().streams)
    for (Task& task : stream->queue)
      if (task.wait == handle) task.wait = nullptr;
  std::erase_if(everything().events, [&](const auto& one) { return one.get() == handle; });
}

bool run_one(CUstream_st& stream) {
  if (stream.queue.empty()) return false;
  Task task = std::move(stream.queue.front());
  stream.queue.pop_front();
  if (task.wait != nullptr) drain_event(*task.wait, task.version);
  if (task.run) task.run();
  if (task.record != nullptr && task.record->done < task.version) {
    task.record->done = task.version;
    task.record->milliseconds = now_ms();
  }
  return true;
}

void drain(CUstream_st& stream) {
  while (run_one(stream)) {
  }
}

void drain_event(CUevent_st& event, std::uint64_t version) {
  while (event.done < version)
    if (event.stream == nullptr || !run_one(*event.stream)) stop("an event can never complete");
}

void drain_all() {
  auto& all = everything();
  drain(all.legacy);
  // By index: a host function that runs here may create a stream.
  // NOLINTNEXTLINE(modernize-loop-convert)
  for (std::size_t i = 0; i < all.streams.size(); ++i) drain(*all.streams[i]);
}

void push(CUstream_st& stream, Task task) {
  auto& all = everything();
  // The legacy default stream and blocking streams wait for each other.
  if (&stream == &all.legacy) {
    for (const auto& other : all.streams)
      if (other->blocking) drain(*other);
  } else if (stream.blocking) {
    drain(all.legacy);
  }
  stream.queue.push_back(std::move(task));
  if (schedule().order == Order::now) drain(stream);
  if (schedule().order == Order::random) run_some_at_random();
}

void enqueue(cudaStream_t handle, std::string what, std::function<void()> work) {
  const std::lock_guard guard(api_mutex());
  CUstream_st& stream = stream_of(handle);
  if (stream.capture != nullptr)
    add_node(stream, std::move(what), std::move(work));
  else
    push(stream, {.what = std::move(what), .run = std::move(work)});
}

}  // namespace fakecuda
