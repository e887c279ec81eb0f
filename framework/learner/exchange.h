#pragma once
#include "framework/autograd/rank_gather.h"
#include "framework/autograd/tape.h"
#include "framework/distributed/communicator.h"
#include "framework/kernels/common/step_control.h"
#include "framework/learner/fit_progress.h"
#include "framework/learner/loop_state.h"
#include "framework/nn/param_store.h"
#include "framework/optim/rank_gradients.h"
#include "framework/runtime/device_array.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace learn {

/// The type in which ranks sum their gradients.
enum class Wire : std::uint8_t {
  f32,
  /// Half the bytes, and sums that are rounded after each addition: f32 gradients travel as bf16,
  /// and those that a half model keeps in halves as these. In a half model the gradients that it
  /// keeps in f32 (BatchNorm's, and those held over several batches) travel as f32.
  half,
};

struct ExchangeOptions {
  std::size_t bucket_bytes = std::size_t{4} << 20U;  ///< of gradients that are summed at once
  Wire wire = Wire::f32;
  /// Sums gradients during the backward pass; false: after it, for comparisons.
  bool overlap = true;
  /// BatchNorm normalizes the samples of all ranks as one batch, instead of each share by itself.
  bool sync_bn = false;
};

/// The costs of an exchange for this rank, since the start.
struct ExchangeCosts {
  double agreeing = 0;       ///< seconds in which it waited for the ranks to agree
  double summing = 0;        ///< seconds in which it waited for sums after the backward pass
  std::int64_t sent = 0;     ///< bytes of the values that were summed
  std::int64_t updates = 0;  ///< backward passes with sums
};

/// The loss of a batch over the shares of several ranks.
struct BatchTotals {
  Tensor loss;    ///< mean over the samples, each weighted as in the loss: one f32 element
  Tensor weight;  ///< of the loss, see nn::Loss: one f32 element; undefined: the number of samples
};

/// Makes the batches of several ranks one: each computes its share of the rows, and then all have
/// the gradients, running statistics, loss and outputs of the whole batch, with the same bits. Used
/// by the Learner's loop. On a GPU the communicator must be one of that GPU; the host waits for the
/// other ranks' hosts at each batch, and never for the GPU.
///
/// A gradient is summed as soon as it is complete, in buckets: contiguous ranges of the flat
/// gradients, never across a parameter group or the border between halves and f32. Their order is
/// the same on all ranks, whatever the order of a rank's operations.
class Exchange final : public GradientObserver, public RankGather {
 public:
  /// Borrows the communicator. All ranks do this together.
  explicit Exchange(Communicator& communicator, const ExchangeOptions& options = {});
  ~Exchange() override;

  [[nodiscard]] Share share() const noexcept;
  /// This, for a tape, if BatchNorm normalizes the samples of all ranks; otherwise null.
  [[nodiscard]] RankGather* batch_norm_ranks() noexcept {
    return options_.sync_bn ? this : nullptr;
  }
  [[nodiscard]] int ranks() const override { return share().ranks; }
  [[nodiscard]] int rank() const override { return share().rank; }
  void gather(Context& ctx, const Tensor& mine, Tensor& all) override;
  [[nodiscard]] Communicator& communicator() const noexcept { return communicator_; }
  /// Number of different hosts.
  [[nodiscard]] int hosts() const noexcept { return hosts_; }
  [[nodiscard]] const ExchangeCosts& costs() const noexcept { return costs_; }
  /// For texts: "rank 3 (nodeb)".
  [[nodiscard]] const std::string& name_of(int rank) const {
    return names_[static_cast<std::size_t>(rank)];
  }

  /// Tells the other ranks about the batch, whose loss is computed, and starts its totals. Throws
  /// RanksError, naming a rank, if they are at another batch, decided otherwise, or train other
  /// parameters.
  void agree(const FitProgress& progress, const BatchRun& batch, nn::ParamStore& params);
  /// Tells the other ranks about a training batch whose operations were captured, with its totals
  /// and sums. Throws as `agree`.
  void agree_on_replay(const FitProgress& progress,
                       const BatchRun& batch,
                       const nn::ParamStore& params);
  /// Says that the batch is attempted again, so that the other ranks do not hear of it twice.
  void attempt_again() noexcept { again_ = true; }
  /// The loss's weight of all shares of the batch, one f32 element; undefined if the loss gives no
  /// weight.
  [[nodiscard]] Tensor weight(Context& ctx);
  /// The totals of the batch, once.
  [[nodiscard]] BatchTotals totals(Context& ctx);

  /// The first rank whose `value` is not rank 0's; 0 if all have the same. Compares them at
  /// `clock`, which all ranks must have reached; throws as `agree`.
  [[nodiscard]] int different_rank(std::int64_t clock, std::uint64_t value);

  /// Starts the sums of a backward pass. Half gradients are taken to the f32 gradients, with
  /// `mode`, and unscaled: before the sum, or after it if they are sent as halves.
  void begin_gradients(nn::ParamStore& params, DeviceArray<StepControl>& control, GradMode mode);
  void complete(ParamSlot& slot) override;
  /// Ends them, and sums what the batch changed in the running statistics, weighing this rank's by
  /// its part of the samples. Sets `found_inf` if a half gradient's sum is not finite.
  void end_gradients();

  /// The rows of all ranks in the order of samples, for `rows`, one for each row of `batch`.
  /// Throws UsageError for another number.
  [[nodiscard]] Tensor whole(Context& ctx, const Tensor& rows, const Batch& batch);

  /// Says why this rank wants to end the training, by a number such as a signal's; 0: it does not.
  /// All ranks learn of it with the next batch that they agree on.
  void request_end(int reason) noexcept { requests_end_ = reason; }
  /// The greatest reason of the ranks when they last agreed; 0: none wanted to end.
  [[nodiscard]] int end_requested() const noexcept { return end_requested_; }

 private:
  /// The message of a rank before it communicates anything else, so that ranks that do different
  /// things learn of it before their messages are mixed up.
  struct Word;
  struct Bucket {
    std::int64_t begin = 0, count = 0;  ///< of the flat gradients, in elements
    std::int64_t first_param = 0;       ///< the one that is declared first
    std::int64_t missing = 0;           ///< gradients that are not complete
    bool halves = false;                ///< written as half copies
    Tensor sent{};                      ///< their sum, until the gradients have it
  };

  [[nodiscard]] Word word_of(const FitProgress& progress,
                             const BatchRun& batch,
                             const nn::ParamStore& params) const;
  /// Tells `mine`, and returns the words of all ranks.
  [[nodiscard]] std::vector<Word> meet(Word mine);
  void meet_for_batch(const Word& mine);
  void begin_totals(Context& ctx, const BatchRun& batch);
  void finish_totals(Context& ctx);
  [[nodiscard]] static int first_other(const std::vector<Word>& words);
  void plan_buckets();
  void add_to_buckets(int group, bool halves);
  [[nodiscard]] Tensor gradients(const Bucket& bucket) const;
  [[nodiscard]] Tensor half_gradients(const Bucket& bucket) const;
  /// Whether the half gradients of a bucket are sent as they are, and unscaled after the sum.
  [[nodiscard]] bool sends_halves(const Bucket& bucket) const;
  [[nodiscard]] DType type_on_wire(DType gradients) const;
  void send(Bucket& bucket);
  /// Takes the sum to the gradients.
  void take(Bucket& bucket);

  Communicator& communicator_;
  ExchangeOptions options_;
  std::vector<std::string> names_;
  int hosts_ = 1;
  ExchangeCosts costs_;
  int requests_end_ = 0;
  int end_requested_ = 0;
  std::string agreed_;       // the batch that the ranks agreed on, for messages
  std::vector<Word> words_;  // about it
  bool again_ = false;

  double part_ = 0;        // this rank's part of its samples
  bool weighted_ = false;  // a rank's loss gave a weight
  Tensor sums_;            // on a GPU and under way: the loss times its weight, and the weight
  BatchTotals totals_;

  // The running backward pass.
  nn::ParamStore* params_ = nullptr;
  DeviceArray<StepControl>* control_ = nullptr;
  GradMode mode_ = GradMode::overwrite;
  std::vector<Bucket> buckets_;  // in the order in which they are sent
  std::unordered_map<const ParamSlot*, std::size_t> bucket_of_;
  std::size_t sent_ = 0;
  optim::RankStatistics statistics_;
};

}  // namespace learn
