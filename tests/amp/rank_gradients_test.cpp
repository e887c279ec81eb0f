// Loops without a Learner, in several ranks. Ranks are threads.
#include "framework/optim/rank_gradients.h"

#include "framework/amp/grad_scaler.h"
#include "framework/amp/half_optimizer.h"
#include "framework/autograd/autocast.h"
#include "framework/autograd/ops.h"
#include "framework/autograd/tape.h"
#include "framework/interfaces/batch.h"
#include "framework/nn/layers.h"
#include "framework/nn/model.h"
#include "framework/optim/sgd.h"
#include "framework/tensor/factory.h"
#include "tests/support/rank_threads.h"
#include "tests/support/worse.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <vector>

using namespace learn;
using testing::run_ranks;
using testing::ThreadCommunicator;

namespace {

constexpr std::int64_t kRows = 11;
constexpr std::int64_t kFeatures = 4;
constexpr int kClasses = 3;

nn::Model net() {
  return nn::make_model<nn::Sequential>("net", {kFeatures}, kClasses, [](nn::Sequential& layers) {
    layers.emplace<nn::Linear>(kFeatures, 16);
    layers.emplace<nn::Activation>(ActivationKind::relu());
    layers.emplace<nn::Linear>(16, kClasses);
  });
}

/// Rows of a batch, of which each step has another.
Batch batch_of(Context& ctx, int step, const RowRange& rows) {
  Batch batch;
  batch.x = ctx.empty({rows.count, kFeatures}, DType::f32);
  batch.y = ctx.empty({rows.count}, DType::i64);
  for (std::int64_t i = 0; i < rows.count; ++i) {
    const std::int64_t row = rows.first + i;
    for (std::int64_t c = 0; c < kFeatures; ++c)
      set(batch.x,
          i * kFeatures + c,
          std::sin(static_cast<double>(step * 31 + row * 7 + c * 3)) +
              (c == row % kClasses ? 1 : 0));
    set(batch.y, i, static_cast<double>(row % kClasses));
  }
  return batch;
}

enum class Loop { full, autocast, half };

struct Result {
  std::vector<double> weights;
  std::int64_t skipped = 0;
  friend bool operator==(const Result&, const Result&) = default;
};

/// `overflows`: the step in which an input of the last row is infinite; -1: none.
Result train(Loop loop, Communicator* ranks, int overflows) {
  Context ctx({.threads = 1});
  nn::Model model = net();
  nn::ParamStore& params = *model.params;
  params.materialize(ctx);
  const auto optimizer = optim::sgd({.lr = 0.2F, .momentum = 0.9F})(params);
  amp::GradScaler scaler(ctx, {.init_scale = 1024, .enabled = loop == Loop::autocast});
  std::optional<amp::HalfOptimizer> half;
  if (loop == Loop::half)
    half.emplace(*optimizer, amp::HalfOptimizerOptions{.dynamic_loss_scale = true});
  Tape tape(ctx);
  const Share share = ranks == nullptr
                          ? Share{}
                          : Share{.rank = ranks->place().rank, .ranks = ranks->place().ranks};
  for (int step = 0; step < 10; ++step) {
    const RowRange rows = share.of(kRows);
    const Batch batch = batch_of(ctx, step, rows);
    if (step == overflows && rows.first + rows.count == kRows) {
      Tensor x = batch.x;
      set(x, x.elements() - 1, INFINITY);
    }
    tape.reset();
    const AutocastRegion region(tape,
                                loop == Loop::autocast ? std::optional(DType::f16) : std::nullopt);
    Var x = tape.input(batch.x);
    if (loop == Loop::half) x = ops::cast(x, DType::f16);
    const Var loss = ops::softmax_cross_entropy((*model.module)(x), batch.y, 0);
    if (half)
      half->backward(loss, false);
    else
      tape.backward(scaler.scale(loss));
    if (ranks != nullptr)
      optim::sum_gradients(
          *ranks, params, static_cast<double>(rows.count) / static_cast<double>(kRows));
    if (half) {
      half->step();
    } else {
      scaler.step(*optimizer);
      scaler.update();
    }
  }
  Result result;
  for (std::int64_t i = 0; i < params.flat_master().elements(); ++i)
    result.weights.push_back(get(params.flat_master(), i));
  result.skipped = optimizer->read_control().skipped;
  return result;
}

Result train_in_ranks(Loop loop, int count, int overflows) {
  std::vector<Result> all(static_cast<std::size_t>(count));
  run_ranks(count, [&](ThreadCommunicator& ranks) {
    all[static_cast<std::size_t>(ranks.place().rank)] = train(loop, &ranks, overflows);
  });
  for (const Result& other : all) CHECK(other == all.front());
  return all.front();
}

}  // namespace

TEST_CASE("a hand-written loop that sums the gradients trains in ranks as in one process") {
  for (const Loop loop : {Loop::full, Loop::autocast, Loop::half}) {
    CAPTURE(static_cast<int>(loop));
    const Result alone = train(loop, nullptr, -1);
    for (const int count : {2, 3, 4}) {
      CAPTURE(count);
      const Result ranks = train_in_ranks(loop, count, -1);
      double worst = 0;
      for (std::size_t i = 0; i < alone.weights.size(); ++i)
        worst = test::worse(worst, std::abs(ranks.weights[i] - alone.weights[i]));
      // Weights of order 1: f32 rounds sums of 11 rows, halves round each gradient to 11 bits.
      CHECK(worst < (loop == Loop::full ? 2e-6 : 5e-3));
    }
  }
}

TEST_CASE("an overflow in one rank of a hand-written loop skips the step in all") {
  for (const Loop loop : {Loop::autocast, Loop::half}) {
    CAPTURE(static_cast<int>(loop));
    CHECK(train(loop, nullptr, 4).skipped == 1);
    for (const int count : {2, 3}) CHECK(train_in_ranks(loop, count, 4).skipped == 1);
  }
}

TEST_CASE("gradients that a rank lacks count as zero, and statistics are joined") {
  run_ranks(2, [](ThreadCommunicator& ranks) {
    Context ctx({.threads = 1});
    nn::Model model = nn::make_model<nn::BatchNorm1d>("norm", {2}, 2, 2);
    nn::ParamStore& params = *model.params;
    params.materialize(ctx);
    const int rank = ranks.place().rank;
    ParamSlot& weight = params.slot(0);
    for (std::int64_t i = 0; i < weight.grad.elements(); ++i)
      set(weight.grad, i, rank == 0 ? 8 : NAN);
    if (rank == 0) weight.adopt_grad();
    if (rank == 1) {  // otherwise there was no backward pass
      for (std::int64_t i = 0; i < 2; ++i) set(params.slot(1).grad, i, 4);
      params.slot(1).adopt_grad();
    }
    Tensor mean = params.buffer(0).value;
    const double before = get(mean, 0);
    set(mean, 0, before + (rank == 0 ? 1 : 3));
    optim::sum_gradients(ranks, params, rank == 0 ? 0.25 : 0.75);
    CHECK(get(weight.grad, 0) == 2);
    CHECK(get(params.slot(1).grad, 0) == 3);
    CHECK(get(mean, 0) == before + 0.25 * 1 + 0.75 * 3);
    CHECK_THROWS_AS(optim::sum_gradients(ranks, params, 2), UsageError);
    params.begin_gradients();
    CHECK_THROWS_AS(optim::sum_gradients(ranks, params, 0.5), UsageError);
  });
}
