#pragma once
#include "framework/learner/callback.h"
#include "framework/tensor/tensor.h"

#include <cstdint>

namespace learn::callbacks {

/// Every `every` updates the slow weights become d * slow + (1 - d) * weights, where d = keep *
/// t^power and t is the share of the fit's planned updates that are made, and the weights are set
/// to them.
struct LookaheadOptions {
  std::int64_t every = 5;
  double keep = 0.7738;  ///< d at the end of the training
  double power = 3;      ///< 0: d stays the same
};

/// Lookahead (Zhang et al., arXiv 1907.08610: every = 5, keep = 0.5, power = 0), by default with
/// the growing average of the airbench records (keep = 0.95^5). The slow weights are a copy of all
/// parameters and of BatchNorm's running statistics; they start as a copy of the model at the start
/// of each fit. The optimizer's moments are left alone. The last planned update of a fit is
/// followed by no average: the model gets the slow weights as they are.
///
/// At batch_end of a training batch that made an update. Slow weights and the count of updates are
/// part of each checkpoint.
class Lookahead final : public Callback {
 public:
  /// Throws UsageError unless every is at least 1, keep in [0, 1] and power not negative.
  explicit Lookahead(const LookaheadOptions& options = {});

  [[nodiscard]] std::string_view name() const override { return "lookahead"; }
  [[nodiscard]] bool capturable() const override { return true; }
  [[nodiscard]] bool runs_in_sandbox() const override { return false; }
  [[nodiscard]] std::vector<std::string> claims() const override {
    return {"set the weights to slow ones"};
  }
  void visit_state(StateVisitor& visitor) override;
  void attached(Learner& learn) override;
  void train_begin(Learner& learn) override;
  void batch_end(Learner& learn) override;

  /// d after this many of the planned updates.
  [[nodiscard]] double weight_of_slow(std::int64_t updates, std::int64_t planned) const;

 private:
  void average(Learner& learn, double weight_of_slow);

  LookaheadOptions options_;
  std::int64_t updates_ = 0;
  Tensor slow_buffers_;
};

}  // namespace learn::callbacks
