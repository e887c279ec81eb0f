#include "framework/autograd/ops.h"
#include "framework/autograd/rank_gather.h"
#include "framework/tensor/factory.h"
#include "tests/support/rank_threads.h"
#include "tests/support/worse.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

// Batch normalization over the samples of all ranks, which are threads, against one batch that has
// all samples.

namespace learn {
namespace {

using expr::arg;
using testing::run_ranks;
using testing::ThreadCommunicator;

std::uint64_t test_seed() {
  const char* text = std::getenv("LEARN_TEST_SEED");
  return text == nullptr ? 20240 : std::strtoull(text, nullptr, 10);
}

class ThreadGather final : public RankGather {
 public:
  explicit ThreadGather(ThreadCommunicator& ranks) : ranks_(ranks) {}
  [[nodiscard]] int ranks() const override { return ranks_.place().ranks; }
  [[nodiscard]] int rank() const override { return ranks_.place().rank; }
  void gather(Context&, const Tensor& mine, Tensor& all) override {
    const std::vector<std::size_t> sizes(static_cast<std::size_t>(ranks()), mine.bytes());
    ranks_.gather({mine.raw(), mine.bytes()}, sizes, {all.raw(), all.bytes()});
  }

 private:
  ThreadCommunicator& ranks_;
};

constexpr std::int64_t kChannels = 5;

struct Options {
  Shape sample;  ///< without the first dimension
  DType dtype = DType::f32;
  bool residual_before_activation = true;
  ForwardMode mode = ForwardMode::train;
  /// Samples of each rank; one of -1 runs a spare sample.
  std::vector<std::int64_t> shares;
  /// Ranks whose x needs no gradient, as images do not.
  std::vector<int> without_dx = {};

  [[nodiscard]] std::int64_t samples() const {
    return std::accumulate(
        shares.begin(), shares.end(), std::int64_t{0}, [](std::int64_t sum, std::int64_t n) {
          return sum + std::max<std::int64_t>(n, 0);
        });
  }
  [[nodiscard]] Shape shape(std::int64_t samples) const {
    return sample.rank() == 1 ? Shape{samples, sample[0]}
                              : Shape{samples, sample[0], sample[1], sample[2]};
  }
};

struct Result {
  std::vector<double> y, dx, dparams, running;
  std::size_t gathers = 0;
};

void append(std::vector<double>& to, const Tensor& values) {
  for (std::int64_t i = 0; i < values.elements(); ++i) to.push_back(get(values, i));
}

/// Runs two layers on samples [first, first + n) of the batch, or on a spare sample for n = -1. The
/// second one adds x.
Result run_layers(const Options& options, std::int64_t first, std::int64_t n, RankGather* ranks) {
  Context ctx({.threads = 1});
  const bool spare = n < 0;
  const bool with_dx =
      ranks == nullptr || std::ranges::count(options.without_dx, ranks->rank()) == 0;
  Tape tape(ctx, {.mode = options.mode, .spare = spare});
  tape.set_rank_gather(ranks);
  const DType dtype = options.dtype;
  const auto samples = [&](double low, double high, std::uint64_t stream) {
    const Tensor all = uniform(
        ctx.persistent(), options.shape(options.samples()), dtype, low, high, test_seed(), stream);
    return spare ? full(ctx.persistent(), options.shape(1), dtype, 1000) : all.rows(first, n);
  };
  const auto vector = [&](double low, double high, std::uint64_t stream) {
    return uniform(ctx.persistent(), {kChannels}, dtype, low, high, test_seed(), stream);
  };
  const Var x = tape.input(samples(-1, 3, 1), with_dx);
  std::vector<Var> params;
  std::vector<Tensor> running;
  for (std::uint64_t layer = 0; layer < 2; ++layer) {
    params.push_back(tape.input(vector(0.5, 1.5, 10 + layer), true));
    params.push_back(tape.input(vector(-0.5, 0.5, 20 + layer), true));
    running.push_back(vector(-1, 1, 30 + layer));
    running.push_back(vector(0.5, 1.5, 40 + layer));
  }
  const Var h = ops::batch_norm(x,
                                params[0],
                                params[1],
                                running[0],
                                running[1],
                                {},
                                {.activation = ActivationKind::silu()},
                                options.mode);
  const Var y = ops::batch_norm(h,
                                params[2],
                                params[3],
                                running[2],
                                running[3],
                                x,
                                {.activation = ActivationKind::leaky_relu(0.1F),
                                 .residual_before_activation = options.residual_before_activation},
                                options.mode);
  const Var loss = ops::sum(ops::map(arg(0) * arg(1), {y, tape.input(samples(-1, 1, 2))}));
  tape.backward(loss, full(ctx.persistent(), {}, dtype, spare ? 0 : 1));
  Result out;
  if (!spare) append(out.y, y.value());
  if (!spare && with_dx) append(out.dx, tape.grad_of(x));
  if (spare)
    for (std::int64_t i = 0; i < x.value().elements(); ++i) CHECK(get(tape.grad_of(x), i) == 0);
  for (const Var& param : params) append(out.dparams, tape.grad_of(param));
  for (const Tensor& statistics : running) append(out.running, statistics);
  return out;
}

/// Runs all ranks and joins their results.
Result run_on_ranks(const Options& options) {
  std::vector<Result> parts(options.shares.size());
  run_ranks(static_cast<int>(parts.size()), [&](ThreadCommunicator& communicator) {
    ThreadGather gather(communicator);
    const auto rank = static_cast<std::size_t>(communicator.place().rank);
    std::int64_t first = 0;
    for (std::size_t r = 0; r < rank; ++r) first += std::max<std::int64_t>(options.shares[r], 0);
    parts[rank] = run_layers(options, first, options.shares[rank], &gather);
    parts[rank].gathers = communicator.traffic().gathers;
  });
  Result all = parts[0];
  for (std::size_t r = 1; r < parts.size(); ++r) {
    all.y.insert(all.y.end(), parts[r].y.begin(), parts[r].y.end());
    all.dx.insert(all.dx.end(), parts[r].dx.begin(), parts[r].dx.end());
    for (std::size_t i = 0; i < all.dparams.size(); ++i) all.dparams[i] += parts[r].dparams[i];
    CHECK(parts[r].running == all.running);  // to the bit: nothing else sends them to other ranks
    CHECK(parts[r].gathers == all.gathers);
  }
  return all;
}

void check_close(const std::string& what,
                 const std::vector<double>& got,
                 const std::vector<double>& expected,
                 double tolerance) {
  CAPTURE(what);
  REQUIRE(got.size() == expected.size());
  double worst = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double off = std::abs(got[i] - expected[i]) / std::max(1.0, std::abs(expected[i]));
    worst = test::worse(worst, off);
  }
  CHECK(worst <= tolerance);
}

void check_equals_one_batch(Options options) {
  CAPTURE(test_seed());
  CAPTURE(options.shares.size());
  CAPTURE(options.shares.front());
  CAPTURE(options.shares.back());
  CAPTURE(options.sample.rank());
  CAPTURE(options.residual_before_activation);
  for (const DType dtype : {DType::f64, DType::f32}) {
    options.dtype = dtype;
    CAPTURE(std::string(name_of(dtype)));
    // f64 rounds to 1e-16 and f32 to 6e-8. Sums of up to 72 terms and two layers make 2e-14 and
    // 4e-6 of that, as measured.
    const double tolerance = dtype == DType::f64 ? 1e-12 : 2e-5;
    const Result expected = run_layers(options, 0, options.samples(), nullptr);
    const Result got = run_on_ranks(options);
    check_close("y", got.y, expected.y, tolerance);
    if (options.without_dx.empty()) check_close("dx", got.dx, expected.dx, tolerance);
    check_close("parameters", got.dparams, expected.dparams, tolerance);
    check_close("running statistics", got.running, expected.running, tolerance);
    CHECK(got.gathers == (options.mode == ForwardMode::eval ? 0 : 4));  // two a layer
  }
}

TEST_SUITE("batch norm on ranks") {
  TEST_CASE("Equal and uneven shares of a batch get what the whole batch gets") {
    for (const std::vector<std::int64_t>& shares :
         {std::vector<std::int64_t>{6, 6}, {5, 7}, {1, 8}, {5, 4, 3}, {1, 1, 7}})
      for (const bool before : {true, false}) {
        check_equals_one_batch(
            {.sample = {3, 2, kChannels}, .residual_before_activation = before, .shares = shares});
        check_equals_one_batch(
            {.sample = {kChannels}, .residual_before_activation = before, .shares = shares});
      }
  }

  TEST_CASE("One value per channel on each rank is enough") {
    check_equals_one_batch({.sample = {kChannels}, .shares = {1, 1, 1}});
  }

  TEST_CASE("A spare sample and an empty share change nothing on other ranks") {
    for (const std::vector<std::int64_t>& shares :
         {std::vector<std::int64_t>{6, -1}, {-1, 6}, {4, -1, 3}, {-1, 2, -1}, {0, 5}, {3, 0, -1}}) {
      check_equals_one_batch({.sample = {3, 2, kChannels}, .shares = shares});
      check_equals_one_batch({.sample = {kChannels}, .shares = shares});
    }
  }

  TEST_CASE("All ranks exchange even if the input of some needs no gradient") {
    check_equals_one_batch({.sample = {kChannels}, .shares = {4, 3, 5}, .without_dx = {0, 2}});
  }

  TEST_CASE("Evaluation exchanges nothing") {
    check_equals_one_batch({.sample = {kChannels}, .mode = ForwardMode::eval, .shares = {4, 3}});
  }

  TEST_CASE("Fewer than two values per channel in all are an error on every rank") {
    for (const std::vector<std::int64_t>& shares :
         {std::vector<std::int64_t>{1, -1}, {-1, -1}, {0, 1, -1}}) {
      std::vector<std::string> errors(shares.size());
      run_ranks(static_cast<int>(shares.size()), [&](ThreadCommunicator& communicator) {
        ThreadGather gather(communicator);
        const auto rank = static_cast<std::size_t>(communicator.place().rank);
        try {
          run_layers({.sample = {kChannels}, .shares = shares}, 0, shares[rank], &gather);
        } catch (const Error& error) {
          errors[rank] = error.what();
        }
      });
      for (const std::string& error : errors)
        CHECK(error.find("more than one value per channel") != std::string::npos);
    }
  }
}

}  // namespace
}  // namespace learn
