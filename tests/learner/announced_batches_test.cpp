// Compares the announced batches of a source with the returned ones.
#include "framework/learner/learner.h"
#include "tests/learner/tiny_training.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>

using namespace tiny;

TEST_CASE("a source that returns more batches than it announced is stopped") {
  class Liar final : public BatchSource {
   public:
    explicit Liar(BatchSource& data) : data_(data) {}
    [[nodiscard]] std::int64_t batches() const override { return 1; }
    [[nodiscard]] std::int64_t samples() const override { return data_.samples(); }
    void begin(std::int64_t epoch) override { data_.begin(epoch); }
    [[nodiscard]] bool next(Batch& batch) override { return data_.next(batch); }

   private:
    BatchSource& data_;
  };
  Training t;
  Liar liar(t.train);
  Learner learn(t.ctx, Training::make_scale(), liar, Training::with_loss({}));
  CHECK_THROWS_WITH_AS(
      learn.fit(1),
      doctest::Contains("the data source returned more batches than the 1 it announced"),
      Error);
}

TEST_CASE("a source that returns fewer batches than it announced is stopped") {
  class Short final : public BatchSource {
   public:
    Short(BatchSource& data, std::int64_t more) : data_(data), more_(more) {}
    [[nodiscard]] std::int64_t batches() const override { return data_.batches() + more_; }
    [[nodiscard]] std::int64_t samples() const override { return data_.samples(); }
    void begin(std::int64_t epoch) override { data_.begin(epoch); }
    [[nodiscard]] bool next(Batch& batch) override { return data_.next(batch); }

   private:
    BatchSource& data_;
    std::int64_t more_;
  };
  Training t({2, 2}, {2, 2, 2});
  Short train(t.train, 5);
  Short valid(t.valid, 1);
  const auto fit = [&](const BatchSources& sources) {
    Learner learn(t.ctx, Training::make_scale(), sources, Training::with_loss({}));
    learn.fit(1);
  };
  CHECK_THROWS_WITH_AS(
      fit({train, t.valid}),
      doctest::Contains("the training source announced 7 batches but returned 2: its batches() "
                        "must return how many next() returns in a pass"),
      DataError);
  CHECK_THROWS_WITH_AS(
      fit({t.train, valid}),
      doctest::Contains("the validation source announced 4 batches but returned 3"),
      DataError);
}

TEST_CASE("an impossible number of batches is refused before the training") {
  struct Announced final : BatchSource {
    Announced(std::int64_t b, std::int64_t s) : batches_(b), samples_(s) {}
    [[nodiscard]] std::int64_t batches() const override { return batches_; }
    [[nodiscard]] std::int64_t samples() const override { return samples_; }
    void begin(std::int64_t) override {}
    [[nodiscard]] bool next(Batch&) override { return false; }
    std::int64_t batches_, samples_;
  };
  const auto refused = [](std::int64_t batches, std::int64_t samples, const std::string& text) {
    Training t;
    Announced source(batches, samples);
    t.learn.set_data(source);
    CHECK_THROWS_WITH_AS(t.learn.fit(4), text.c_str(), UsageError);
  };
  refused(0, 4, "fit: the training source has no batches");
  refused(-1, 4, "fit: the training source has no batches");
  refused(2, -1, "fit: the training source announced -1 samples; the count cannot be negative");
  refused(std::int64_t{1} << 62U,
          4,
          "fit: 4 epochs of 4611686018427387904 batches are too many to count");
}
