#pragma once
#include "framework/interfaces/batch.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace learn {

/// Makes the training data in batches of that size.
using BatchSourceOfSize = std::function<std::unique_ptr<BatchSource>(std::int64_t batch_size)>;

/// Options of `Learner::batch_size_find`.
struct BatchSizeFindOptions {
  std::int64_t smallest = 8;    ///< the first; each size after it is twice the one before
  std::int64_t largest = 4096;  ///< none above it
  std::int64_t steps = 5;       ///< that are timed at each size, after two that are not
  /// Bytes that the steps may take. A size that would need more, estimated from the previous one,
  /// is not tried, because a host that runs out of memory kills the process instead of reporting
  /// it. 0: until the device refuses.
  std::size_t memory = 0;
};

/// Why no larger size was tried.
enum class BatchSizeFindEnd : std::uint8_t {
  done,         ///< the largest was reached
  samples,      ///< the data have no more samples
  memory,       ///< out of memory, or it would have been
  interrupted,  ///< a callback ended the training: Ctrl-C
};

/// A size that fits.
struct BatchSizeTrial {
  std::int64_t batch_size = 0;
  double step_seconds = 0;  ///< of a training step with its batch, the mean
  double samples_per_second = 0;
  double spread = 0;      ///< relative spread of its timings (three if there are enough steps)
  std::size_t bytes = 0;  ///< peak memory of the steps, without weights and their state
};

struct BatchSizeFindResult {
  /// Share of the best throughput that counts as equally fast, the noise of two measurements.
  static constexpr double kAsFast = 0.95;

  std::vector<BatchSizeTrial> trials;  ///< by size
  BatchSizeFindEnd ended = BatchSizeFindEnd::done;
  std::int64_t refused = 0;  ///< the size that did not fit in memory; 0: all did

  /// The smallest that is as fast as the fastest, to `kAsFast`; null if none fits. Larger ones make
  /// fewer updates in the same time.
  [[nodiscard]] const BatchSizeTrial* suggested() const;
  /// The largest contradiction between timings, as a share: between those of one size, or of a size
  /// that is slower than the ones before and after it. A busy machine causes it; 0 if they agree.
  [[nodiscard]] double noise() const;
  /// "a batch of 1024 does not fit in memory".
  [[nodiscard]] std::string why() const;
};

}  // namespace learn
