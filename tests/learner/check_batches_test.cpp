#include "framework/learner/learner.h"
#include "framework/nn/layers.h"
#include "tests/learner/tiny_training.h"

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

using namespace learn;

namespace {

class Normed final : public nn::Module {
 public:
  explicit Normed(const nn::Scope& scope) : Module(scope), norm_(scope / "norm", tiny::kFeatures) {}
  std::string describe() const override { return "Normed"; }

 protected:
  Var forward(const Var& x) override { return norm_(x); }

 private:
  nn::BatchNorm1d norm_;
};

/// Knows the sizes of its batches, as a loader does.
class Batches final : public BatchSource {
 public:
  explicit Batches(std::vector<std::int64_t> sizes) : sizes_(sizes), data_(std::move(sizes)) {}
  std::int64_t batches() const override { return data_.batches(); }
  std::int64_t samples() const override { return data_.samples(); }
  std::int64_t smallest_batch() const override { return sizes_.back(); }
  Shape sample_shape() const override { return {tiny::kFeatures}; }
  void begin(std::int64_t epoch) override {
    ++begun;
    data_.begin(epoch);
  }
  bool next(Batch& batch) override { return data_.next(batch); }
  int begun = 0;

 private:
  std::vector<std::int64_t> sizes_;
  tiny::Data data_;
};

struct Training {
  explicit Training(std::vector<std::int64_t> sizes, bool normed = true)
      : data(std::move(sizes)),
        learn(ctx,
              normed ? nn::make_model<Normed>("normed", {tiny::kFeatures}, tiny::kFeatures)
                     : tiny::Training::make_scale(),
              data,
              {.loss = tiny::square_loss(), .report = Report::off}) {}
  [[nodiscard]] std::string refusal(bool of_fit) {
    try {
      if (of_fit)
        learn.fit(1);
      else
        learn.check_batches();
    } catch (const UsageError& e) {
      return e.what();
    }
    return "none";
  }

  Context ctx{{.threads = 1}};
  Batches data;
  Learner learn;
};

}  // namespace

TEST_CASE("a batch of one sample that BatchNorm cannot train on is known before the first batch") {
  for (const bool of_fit : {false, true}) {
    Training last({4, 4, 1});
    const std::string text = last.refusal(of_fit);
    CAPTURE(text);
    CHECK(text.starts_with("the last of 3 training batches has one sample, so BatchNorm 'norm' "));
    CHECK(text.ends_with("or change the batch size from 4 (--batch-size 3)"));
    CHECK(last.data.begun == 0);
    Training small({2, 1});
    CHECK(small.refusal(of_fit).ends_with("change the batch size from 2 (--batch-size 3)"));
    Training ones({1, 1});
    CHECK(ones.refusal(of_fit).starts_with("each training batch has one sample, so BatchNorm"));
    CHECK(Training({1}).refusal(of_fit).starts_with("each training batch has one sample"));
  }
}

TEST_CASE("batches that a model can train on are not refused") {
  CHECK(Training({4, 4, 2}).refusal(true) == "none");
  CHECK(Training({4, 4, 1}, false).refusal(true) == "none");
  Training frozen({4, 1});
  frozen.learn.params().slot(0).trainable = false;
  CHECK(frozen.refusal(false) == "none");  // a callback may set the mode that this needs
}
