#include "framework/runtime/cuda/race.h"

#include "framework/runtime/cuda/api_error.h"
#include "framework/runtime/cuda/event.h"
#include "framework/runtime/cuda/watch.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <string>
#include <vector>

namespace learn::cuda {
namespace {

constexpr int kRounds = 4;
constexpr int kPerRound = 4;  // several, so that launching is not what is measured
/// A candidate that takes this many times as long as the fastest does not win in a later round.
constexpr double kHopeless = 1.5;
constexpr double kOut = std::numeric_limits<double>::infinity();

struct Runner {
  std::size_t index = 0;
  double least = kOut;  ///< milliseconds
};

std::vector<Runner>::const_iterator leader(const std::vector<Runner>& runners) {
  return std::min_element(runners.begin(), runners.end(), [](const Runner& a, const Runner& b) {
    return a.least < b.least;
  });
}

/// Milliseconds of one run.
double time_on_stream(Stream stream, FunctionRef<void()> enqueue) {
  Event start(true);
  Event stop(true);
  start.record(stream);
  for (int i = 0; i < kPerRound; ++i) enqueue();
  stop.record(stream);
  return stop.milliseconds_since(start) / kPerRound;
}

/// Keeps the device busy until its clock has risen: an idle one runs at a fifth of its speed, and
/// takes some tens of milliseconds to notice that there is work.
void warm_up(Stream stream, FunctionRef<void()> enqueue) {
  constexpr std::chrono::milliseconds kLong{50};
  int device = 0;
  check_api(cudaGetDevice(&device));
  const auto began = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - began < kLong) {
    for (int i = 0; i < kPerRound; ++i) enqueue();
    wait_for(device, stream);
  }
}

}  // namespace

bool is_capturing(Stream stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  check_api(cudaStreamIsCapturing(stream, &status));
  return status != cudaStreamCaptureStatusNone;
}

std::size_t Race::fastest(std::size_t count, FunctionRef<void(std::size_t)> enqueue) {
  std::vector<Runner> runners;
  std::string error;
  for (std::size_t i = 0; i < count; ++i) {
    try {
      enqueue(i);
      runners.push_back({.index = i});
    } catch (const RanksError&) {
      throw;
    } catch (const Error& refused) {
      error = refused.what();
    }
  }
  if (!warm_ && !runners.empty()) warm_up(stream_, [&] { enqueue(runners.front().index); });
  warm_ = true;
  for (int round = 0; round < kRounds; ++round) {
    for (Runner& runner : runners) {
      try {
        const double took = time_on_stream(stream_, [&] { enqueue(runner.index); });
        runner.least = std::min(runner.least, took);
      } catch (const RanksError&) {
        throw;
      } catch (const Error& refused) {
        error = refused.what();
        runner.least = kOut;
      }
    }
    const double best = runners.empty() ? 0 : leader(runners)->least;
    std::erase_if(runners,
                  [&](const Runner& r) { return r.least == kOut || r.least > kHopeless * best; });
  }
  if (runners.empty())
    fail<DeviceError>("none of {} candidate algorithms could run; last error: {}", count, error);
  return leader(runners)->index;
}

}  // namespace learn::cuda
