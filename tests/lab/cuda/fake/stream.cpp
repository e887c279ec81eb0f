#include "tests/lab/cuda/fake/stream.h"

#include "tests/lab/cuda/fake/capture.h"
#include "tests/lab/cuda/fake/device.h"
#include "tests/lab/cuda/fake/device_memory.h"
#include "tests/lab/cuda/fake/stop.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <utility>

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
  std::vector<std::unique_ptr<CUevent_st>> destroyed_events;  ///< that queues still name
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

/// Runs what can be run of one stream.
void advance(CUstream_st& stream) {
  while (run_one(stream) == Progress::made) {
  }
}

/// False if the event waits for other processes.
bool advance_event(CUevent_st& event, std::uint64_t version) {
  while (event.done < version) {
    const Progress progress = event.stream == nullptr ? Progress::none : run_one(*event.stream);
    if (progress == Progress::none) stop("an event can never complete");
    if (progress == Progress::waits) return false;
  }
  return true;
}

bool holds_shared_work(const CUstream_st& stream) {
  return std::any_of(stream.queue.begin(), stream.queue.end(), [](const Task& task) {
    return task.work.launched != nullptr;
  });
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

void ApiMutex::lock() {
  mutex_.lock();
  ++depth_;
}

void ApiMutex::unlock() {
  --depth_;
  mutex_.unlock();
}

void ApiMutex::let_others_in() {
  const int depth = depth_;
  for (int i = 0; i < depth; ++i) unlock();
  std::this_thread::sleep_for(std::chrono::microseconds(50));
  for (int i = 0; i < depth; ++i) lock();
}

ApiMutex& api_mutex() {
  static ApiMutex& mutex = *new ApiMutex;
  return mutex;
}

CUstream_st& stream_of(cudaStream_t handle) {
  auto& all = everything();
  if (handle == nullptr || handle == cudaStreamLegacy) return all.legacy;
  for (const auto& stream : all.streams)
    if (stream.get() == handle && !stream->destroyed) return *stream;
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
  CUstream_st& gone = stream_of(handle);
  advance(gone);
  gone.destroyed = true;
  std::erase_if(everything().streams,
                [](const auto& stream) { return stream->destroyed && stream->queue.empty(); });
}

void mark_leftovers() {
  for (const auto& stream : everything().streams)
    for (Task& task : stream->queue) task.leftover = true;
}

cudaEvent_t create_event() {
  auto& events = everything().events;
  events.push_back(std::make_unique<CUevent_st>());
  return events.back().get();
}

void destroy_event(cudaEvent_t handle) {
  CUevent_st& event = event_of(handle);
  auto& all = everything();
  if (!advance_event(event, event.recorded)) {
    const auto at = std::find_if(
        all.events.begin(), all.events.end(), [&](const auto& one) { return one.get() == handle; });
    all.destroyed_events.push_back(std::move(*at));
    all.events.erase(at);
    return;
  }
  // Waits that are already satisfied may still name it.
  for (const auto& stream : all.streams)
    for (Task& task : stream->queue)
      if (task.wait == handle) task.wait = nullptr;
  std::erase_if(all.events, [&](const auto& one) { return one.get() == handle; });
}

Progress run_one(CUstream_st& stream) {
  if (stream.queue.empty()) return Progress::none;
  if (const Task& first = stream.queue.front();
      first.wait != nullptr && !advance_event(*first.wait, first.version))
    return Progress::waits;
  // Out of the queue while it runs, because a host function may call the runtime.
  Task task = std::move(stream.queue.front());
  stream.queue.pop_front();
  const bool before = std::exchange(reads_leftovers(), task.leftover);
  const bool done = !task.work.run || task.work.run();
  reads_leftovers() = before;
  if (!done) {
    stream.queue.push_front(std::move(task));
    return Progress::waits;
  }
  if (task.record != nullptr && task.record->done < task.version) {
    task.record->done = task.version;
    task.record->milliseconds = now_ms();
  }
  return Progress::made;
}

void drain(CUstream_st& stream) {
  for (;;) {
    const Progress progress = run_one(stream);
    if (progress == Progress::none) return;
    if (progress == Progress::waits) api_mutex().let_others_in();
  }
}

void drain_event(CUevent_st& event, std::uint64_t version) {
  while (!advance_event(event, version)) api_mutex().let_others_in();
}

// Loops over streams go by index: a host function that runs here, or another thread, may create a
// stream.
// NOLINTBEGIN(modernize-loop-convert)
void drain_all() {
  auto& all = everything();
  drain(all.legacy);
  for (std::size_t i = 0; i < all.streams.size(); ++i) drain(*all.streams[i]);
}

void advance_all() {
  auto& all = everything();
  advance(all.legacy);
  for (std::size_t i = 0; i < all.streams.size(); ++i) advance(*all.streams[i]);
}

void advance_to_shared_work(const std::function<bool()>& satisfied) {
  auto& streams = everything().streams;
  const auto advance_one = [&](CUstream_st& stream) {
    while (!satisfied() && holds_shared_work(stream) && run_one(stream) == Progress::made) {
    }
  };
  advance_one(everything().legacy);
  for (std::size_t i = 0; i < streams.size(); ++i) advance_one(*streams[i]);
}

void push(CUstream_st& stream, Task task) {
  auto& all = everything();
  // The legacy default stream and blocking streams wait for each other.
  if (&stream == &all.legacy) {
    for (std::size_t i = 0; i < all.streams.size(); ++i)
      if (all.streams[i]->blocking) drain(*all.streams[i]);
  } else if (stream.blocking) {
    drain(all.legacy);
  }
  stream.queue.push_back(std::move(task));
  if (schedule().order == Order::now) advance(stream);
  if (schedule().order == Order::random) run_some_at_random();
}
// NOLINTEND(modernize-loop-convert)

void enqueue(cudaStream_t handle, std::string what, DeviceWork work) {
  const std::lock_guard guard(api_mutex());
  CUstream_st& stream = stream_of(handle);
  if (stream.capture != nullptr)
    add_node(stream, std::move(what), std::move(work));
  else
    push(stream, {.what = std::move(what), .work = std::move(work)});
}

void enqueue(cudaStream_t handle, std::string what, std::function<void()> work) {
  enqueue(handle, std::move(what), DeviceWork{.run = [work = std::move(work)] {
            work();
            return true;
          }});
}

}  // namespace fakecuda
