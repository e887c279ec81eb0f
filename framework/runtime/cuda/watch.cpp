#include "framework/runtime/cuda/watch.h"

#include "framework/runtime/cuda/api_error.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

namespace learn::cuda {
namespace {

struct Watched {
  std::shared_ptr<Watch> watch;
  std::vector<Stream> streams;
};

class Watches {
 public:
  void set(int device, Watched watched) {
    const std::lock_guard lock(mutex_);
    if (watched.watch != nullptr)
      by_device_[device] = std::move(watched);
    else
      by_device_.erase(device);
  }
  void forget(int device, Stream stream) {
    const std::lock_guard lock(mutex_);
    const auto found = by_device_.find(device);
    if (found == by_device_.end()) return;
    const std::vector<Stream>& streams = found->second.streams;
    if (std::find(streams.begin(), streams.end(), stream) != streams.end()) by_device_.erase(found);
  }
  [[nodiscard]] Watched of(int device) {
    const std::lock_guard lock(mutex_);
    const auto found = by_device_.find(device);
    return found != by_device_.end() ? found->second : Watched{};
  }

 private:
  std::mutex mutex_;
  std::map<int, Watched> by_device_;
};

/// By device and not in a Runtime: memory and events, which are waited for, may outlive theirs.
Watches& watches() {
  static auto& all = *new Watches;
  return all;
}

}  // namespace

void set_watch(int device, std::shared_ptr<Watch> watch, std::vector<Stream> streams) {
  watches().set(device, {std::move(watch), std::move(streams)});
}

void forget_watched(int device, Stream stream) noexcept { watches().forget(device, stream); }

std::shared_ptr<Watch> watch_of(int device) { return watches().of(device).watch; }

void wait_watched(Watch& watch, FunctionRef<bool()> done) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::microseconds kSpin{50};
  constexpr std::chrono::microseconds kLongest{100};
  const auto begin = Clock::now();
  watch.poll({});
  while (!done()) {
    const auto waited = Clock::now() - begin;
    watch.poll(waited);
    if (waited > kSpin)
      std::this_thread::sleep_for(std::min<Clock::duration>(waited / 4, kLongest));
  }
  // An aborted sum is done, too.
  watch.poll(Clock::now() - begin);
}

void wait_for(int device, Stream stream) {
  if (const std::shared_ptr<Watch> watch = watch_of(device); watch != nullptr)
    return wait_watched(*watch, [&] { return is_done(cudaStreamQuery(stream)); });
  check_api(cudaStreamSynchronize(stream));
}

void wait_if_watched(int device) {
  const Watched watched = watches().of(device);
  if (watched.watch == nullptr) return;
  for (const Stream stream : watched.streams)
    wait_watched(*watched.watch, [&] { return is_done(cudaStreamQuery(stream)); });
}

}  // namespace learn::cuda
