#pragma once
#include "framework/interfaces/state_visitor.h"
#include "framework/tensor/tensor.h"

#include <cstdint>
#include <vector>

namespace learn {

/// Rows of a batch.
struct RowRange {
  std::int64_t first = 0;
  std::int64_t count = 0;
  friend bool operator==(const RowRange&, const RowRange&) = default;
};

/// The part of every batch that one of several ranks computes.
struct Share {
  int rank = 0;
  int ranks = 1;
  /// The rank's rows of a batch of `samples`: from rank * samples / ranks up to the next rank's.
  /// Some ranks get no row if there are more ranks than samples.
  [[nodiscard]] RowRange of(std::int64_t samples) const noexcept {
    const std::int64_t begin = samples * rank / ranks;
    return {.first = begin, .count = samples * (rank + 1) / ranks - begin};
  }
  /// The rows that the rank runs through the model: its own, or else the batch's first, which then
  /// counts nowhere.
  [[nodiscard]] RowRange computed(std::int64_t samples) const noexcept {
    const RowRange mine = of(samples);
    return mine.count > 0 ? mine : RowRange{.first = 0, .count = 1};
  }
  friend bool operator==(const Share&, const Share&) = default;
};

/// One mini-batch on the learner's device, or a rank's share of one.
struct Batch {
  Tensor x;  ///< inputs: images (N,H,W,C), f32 unless the source makes halves
  Tensor y;  ///< targets: classes (N) i64, or soft targets (N,classes) f32
  std::vector<std::int64_t> index;  ///< which samples of the data set these are; may be empty
  /// Number of x's last channels that are zeros and not part of the model's input, for the
  /// convolutions of a GPU.
  std::int64_t padding = 0;
  std::int64_t whole = 0;  ///< samples of all ranks' shares; 0: the batch is not shared
  std::int64_t first = 0;  ///< which sample of all x's first row is
  bool spare = false;      ///< this rank has no share: its row counts nowhere
  Tensor loss_y{};         ///< targets of the loss alone, if a callback mixed them; undefined: y
  /// Targets of the loss.
  [[nodiscard]] const Tensor& loss_target() const { return loss_y.defined() ? loss_y : y; }
  /// Rows of x.
  [[nodiscard]] std::int64_t size() const { return x.shape().rank() > 0 ? x.shape()[0] : 0; }
  /// Samples that this rank's share has: rows of x that count.
  [[nodiscard]] std::int64_t counted() const { return spare ? 0 : size(); }
  /// Samples of all shares of the batch.
  [[nodiscard]] std::int64_t samples() const { return whole > 0 ? whole : size(); }
};

/// Source of the loop's batches. Implementations are in data/; the loop uses only this interface.
class BatchSource {
 public:
  virtual ~BatchSource() = default;
  /// Batches per pass and samples per pass (fewer than the set has if the last short batch is
  /// dropped).
  [[nodiscard]] virtual std::int64_t batches() const = 0;
  [[nodiscard]] virtual std::int64_t samples() const = 0;
  /// The fewest samples that a batch of a pass has; 0 if unknown.
  [[nodiscard]] virtual std::int64_t smallest_batch() const { return 0; }
  /// Requirements for a model: the shape of one sample, (H,W,C) for images, and the number of
  /// classes. Empty and 0 if unknown.
  [[nodiscard]] virtual Shape sample_shape() const { return {}; }
  [[nodiscard]] virtual int classes() const { return 0; }
  /// Makes batches of this share's `computed` rows from the next `begin` on, with `whole`, `first`
  /// and `spare` set; a share of one rank makes whole ones again. Returns false, and does nothing,
  /// if the source makes whole batches only: then the learner takes the rows.
  [[nodiscard]] virtual bool set_share(const Share&) { return false; }
  /// Starts pass number `epoch`: the order and the augmentation depend on it, the seed, and nothing
  /// else.
  virtual void begin(std::int64_t epoch) = 0;
  /// Fills `batch` and returns true, or returns false at the end of the pass. The tensors stay
  /// valid until the next call.
  [[nodiscard]] virtual bool next(Batch& batch) = 0;
  /// Position in the pass, so that a run can resume in the middle of an epoch: a source that loaded
  /// one continues there at the next `begin` of that epoch.
  virtual void visit_state(StateVisitor&) {}
};

/// Sources for a Learner's training and, if there is a second one, validation. Borrows both.
struct BatchSources {
  BatchSources(BatchSource& training) : train(&training) {}  // not explicit: one is enough
  BatchSources(BatchSource& training, BatchSource& validation)
      : train(&training), valid(&validation) {}
  friend bool operator==(const BatchSources&, const BatchSources&) = default;
  BatchSource* train;
  BatchSource* valid = nullptr;
};

}  // namespace learn
