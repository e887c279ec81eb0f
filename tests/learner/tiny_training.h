#pragma once
#include "data/loading/pass_position.h"
#include "framework/learner/learner.h"

#include <functional>
#include <vector>

/// A training small enough to be followed by hand, with its own plain loops: it tests the loop and
/// the callbacks, not the operations.
namespace tiny {

using namespace learn;

inline constexpr std::int64_t kFeatures = 3;

/// pred[n][c] = x[n][c] * weight[c] * gain[c], in the dtype of x; gain stays f32 in a half model,
/// as BatchNorm's parameters do. Keeps a running mean of its input, as BatchNorm does.
class Scale final : public nn::Module {
 public:
  explicit Scale(const nn::Scope& scope, double initial = 0.5);
  [[nodiscard]] std::string describe() const override { return "Scale"; }

 protected:
  [[nodiscard]] Var forward(const Var& x) override;

 private:
  void update_running(const Tensor& x);
  nn::Param weight_;
  nn::Param gain_;
  nn::Buffer running_;
};

/// Two layers that can be two layer groups.
class TwoScales final : public nn::Module {
 public:
  explicit TwoScales(const nn::Scope& scope)
      : Module(scope), first_(scope / "first"), second_(scope / "second") {}
  [[nodiscard]] std::string describe() const override { return "TwoScales"; }

 protected:
  [[nodiscard]] Var forward(const Var& x) override { return second_(first_(x)); }

 private:
  Scale first_, second_;
};

inline nn::Model two_scales() {
  return nn::make_model<TwoScales>("two", {kFeatures}, static_cast<int>(kFeatures));
}

/// Half the squared distance, summed over features, mean over samples. Takes f32 predictions only,
/// as a user's own loss may.
[[nodiscard]] nn::Loss square_loss();

/// Batches of given sizes whose values depend on the batch's number alone.
class Data final : public BatchSource {
 public:
  explicit Data(std::vector<std::int64_t> sizes);
  [[nodiscard]] std::int64_t batches() const override;
  [[nodiscard]] std::int64_t samples() const override;
  void begin(std::int64_t epoch) override;
  void visit_state(StateVisitor& visitor) override;
  [[nodiscard]] bool next(Batch& batch) override;
  /// Multiplies the inputs of a batch of each pass; 1 unless replaced.
  std::function<double(std::size_t)> gain_of_batch = [](std::size_t) { return 1.0; };
  std::vector<std::int64_t> epochs_begun;

 private:
  Arena arena_{"tiny data", cpu_pages()};
  std::vector<std::int64_t> sizes_;
  [[nodiscard]] std::size_t at() const { return static_cast<std::size_t>(position_.batch); }
  data::PassPosition position_;
  std::int64_t sample_ = 0;
};

/// A whole setting: context, data, learner.
struct Training {
  explicit Training(std::vector<std::int64_t> train_sizes = {2, 2},
                    std::vector<std::int64_t> valid_sizes = {2},
                    LearnerOptions options = {},
                    nn::Model model = make_scale());
  ~Training();
  Training(const Training&) = delete;
  Training& operator=(const Training&) = delete;

  [[nodiscard]] static nn::Model make_scale();
  /// The options with `square_loss`, and no callback but those of the test.
  [[nodiscard]] static LearnerOptions with_loss(LearnerOptions options);

  Context ctx{{.threads = 1}};
  Data train;
  Data valid;
  Learner learn;
};

/// The elements of a flat buffer, for comparisons bit for bit.
[[nodiscard]] std::vector<double> values(const Tensor& tensor);

}  // namespace tiny
