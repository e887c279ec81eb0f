// Compares the whole step as one CUDA graph with the same training without it: the bits are equal.
#include "callbacks/cuda_graph.h"
#include "callbacks/ema.h"
#include "callbacks/freezing/bn_freeze.h"
#include "callbacks/gradient_clip.h"
#include "callbacks/lambda.h"
#include "callbacks/mix/mix.h"
#include "callbacks/precision/mixed_precision.h"
#include "callbacks/precision/native_mixed_precision.h"
#include "callbacks/progressive_resizing.h"
#include "callbacks/report/tensorboard.h"
#include "callbacks/terminate_on_nan.h"
#include "data/show/predictions_grid.h"
#include "framework/autograd/ops.h"
#include "framework/kernels/cast/fill.h"
#include "framework/learner/learner.h"
#include "framework/nn/loss.h"
#include "framework/runtime/transfer.h"
#include "framework/tensor/factory.h"
#include "tests/lab/cuda/graph_training.h"
#include "tests/lab/cuda/short_training.h"
#include "tests/support/gradcheck.h"
#include "tests/support/log_file.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

using namespace learn;
using namespace learn::test::graph;

namespace {

/// Scales the loss's gradient by an option, which changes within an epoch.
class Fading final : public Callback {
 public:
  [[nodiscard]] std::string_view name() const override { return "fading"; }
  [[nodiscard]] bool capturable() const override { return true; }
  [[nodiscard]] std::vector<double> captured_options() const override { return {strength_}; }
  void batch_begin(Learner& learn) override {
    strength_ = learn.progress().batch_clock < 2 * kBatches + 1 ? 1 : 0.5;
  }
  void backward_begin(Learner& learn) override {
    Tensor seed = learn.context().empty({1}, DType::f32);
    kernels::fill(learn.context(), seed, strength_);
    learn.set_seed(seed);
  }
  void backward_end(Learner& learn) override { learn.grads_unscaled(); }

 private:
  double strength_ = 1;
};

/// Says that it only enqueues work, and does something else at one event.
class Pretender final : public Callback {
 public:
  explicit Pretender(std::function<void(Learner&)> action) : action_(std::move(action)) {}
  [[nodiscard]] std::string_view name() const override { return "pretender"; }
  [[nodiscard]] bool capturable() const override { return true; }
  void backward_end(Learner& learn) override { action_(learn); }

 private:
  std::function<void(Learner&)> action_;
};

}  // namespace

TEST_CASE("a replayed f16 step is the eager one, with short and mixed batches and overflows") {
  Recipe recipe{.prepare = [](Learner& learn) {
    learn.add<callbacks::Mix>(callbacks::MixOptions{.p = 0.7});
    learn.add<callbacks::GradientClip>(1.0F);
    learn.add<callbacks::Ema>(EmaOptions{.decay = 0.9});  // the average is part of the state
    // Overflows at first, then every other step while it grows: replays skip and do not.
    callbacks::to_fp16(
        learn,
        {.loss_scale = 16777216.0F,
         .scaling = {.growth_factor = 64, .backoff_factor = 1.0F / 64, .growth_interval = 2}});
  }};
  if (!test::interpreted()) {
    recipe.model = "resnet9";
    recipe.epochs = 13;  // 52 steps
  }
  const Trained graph = check_graph_equals_eager(recipe);
  check_replayed(graph.counts, recipe.epochs);
  CHECK(graph.control.skipped > 2);
  CHECK(graph.control.step > 4);
}

TEST_CASE("a replayed step under autocast is the eager one, with overflows and dropout") {
  for (const DType half : {DType::f16, DType::bf16}) {
    CAPTURE(half);
    Recipe recipe{.model = "mlp:dropout=0.5,width=4", .prepare = [half](Learner& learn) {
                    learn.add<callbacks::GradientClip>(1.0F);
                    callbacks::NativeMixedPrecisionOptions options{.dtype = half};
                    if (half == DType::f16) {
                      options.loss_scale = 0x1p40F;
                      options.scaling = {.growth_factor = 64,
                                         .backoff_factor = 1.0F / 64,
                                         .growth_interval = 2,
                                         .ceiling = 0x1p40F};
                    }
                    learn.add<callbacks::NativeMixedPrecision>(options);
                  }};
    const Trained graph = check_graph_equals_eager(recipe);
    check_two_graphs(graph.counts, recipe.epochs);
    CHECK((graph.control.skipped > 0) == (half == DType::f16));
    CHECK(graph.control.step > 4);
  }
}

TEST_CASE("images that come as padded halves train to the same bits, in fewer operations") {
  Recipe recipe{.epochs = 2, .prepare = [](Learner& learn) { callbacks::to_fp16(learn); }};
  const Trained cast = train(recipe, true);
  recipe.images = DType::f16;
  const Trained halves = train(recipe, true);
  recipe.padded = true;
  const Trained padded = check_graph_equals_eager(recipe);
  check_same_bits(halves, cast);
  check_same_bits(padded, cast);
  // The input's padding before the first convolution and before the gradient of its weight.
  CHECK(padded.counts.operations == cast.counts.operations - 2);
}

TEST_CASE("images that grow in the middle of a fit train to the same bits") {
  const Recipe recipe{
      .epochs = 8, .prepare = [](Learner& learn) {
        learn.add<callbacks::ProgressiveResizing>(
            callbacks::ProgressiveResizingOptions{.scale = 0.5, .first = 0.5, .last = 0.5});
        callbacks::to_fp16(learn);
      }};
  const GraphStepCounts counts = check_graph_equals_eager(recipe).counts;
  CHECK(counts.captured >= 4);  // batches of two sizes, images of two sizes
  CHECK(counts.replayed > counts.captured);
}

TEST_CASE("a replayed step leaves the statistics of frozen BatchNorm layers") {
  const Recipe recipe{.epochs = 3, .prepare = [](Learner& learn) {
                        learn.split({"layer2"});
                        learn.freeze(false);
                        learn.add<callbacks::BnFreeze>();
                      }};
  const Trained graph = check_graph_equals_eager(recipe);
  check_two_graphs(graph.counts, recipe.epochs);
  std::int64_t kept = 0;
  std::int64_t moved = 0;
  for (const auto& [name, values] : graph.state.tensors) {
    if (!name.ends_with("running_var")) continue;
    bool ones = true;
    for (std::int64_t i = 0; i < values.elements(); ++i) ones = ones && get(values, i) == 1;
    ++(ones ? kept : moved);
  }
  CHECK(kept > 0);
  CHECK(moved > 0);
}

TEST_CASE("a graph uses the memory of the step it replays") {
  const test::ShortTraining training = test::sized({.model = "small"});
  test::ShortRun eager({.device = Device::cuda()}, training);
  eager.fit(2);
  test::ShortRun graph({.device = Device::cuda()}, training, [](Learner& learn) {
    learn.add<callbacks::CudaGraph>();
  });
  graph.fit(2);
  const GraphStepCounts& counts = graph.learn.find<callbacks::CudaGraph>()->counts();
  REQUIRE(counts.captured > 0);
  // The eager figure has the validation pass and the batch's own tensors in it.
  CHECK(counts.memory > eager.ctx.step().stats().peak / 2);
  CHECK(counts.memory <= eager.ctx.step().stats().peak);
}

TEST_CASE("a replayed f32 step draws a new dropout mask for each batch") {
  const Recipe recipe{.model = "mlp:dropout=0.5,width=4"};
  check_two_graphs(check_graph_equals_eager(recipe).counts, recipe.epochs);
}

TEST_CASE("a replayed step normalizes weights as the eager one, in every precision") {
  const Prepare precisions[] = {[](Learner&) {},
                                [](Learner& learn) { callbacks::to_fp16(learn); },
                                [](Learner& learn) { callbacks::to_native_bf16(learn); }};
  for (const Prepare& prepare : precisions) {
    const Recipe recipe{.model = "mlp:weight_norm=true,width=4", .prepare = prepare};
    check_replayed(check_graph_equals_eager(recipe).counts, recipe.epochs);
  }
}

TEST_CASE("batches that are uploaded one by one are replayed too") {
  const Recipe recipe{.resident = false};
  check_replayed(check_graph_equals_eager(recipe).counts, recipe.epochs);
}

TEST_CASE("step memory that others hold while a graph runs is not the graph's") {
  Tensor held;
  std::int64_t checked = 0;
  const auto hold = [&](Learner& l) {
    // Not in the batches that were captured, so that their addresses would be free to take.
    if (!l.progress().training || l.progress().epoch < 3) return;
    held = l.context().empty({1 << 18}, DType::f32);
    kernels::fill(l.context(), held, 7);
  };
  const auto look = [&](Learner& l) {
    if (!held.defined()) return;
    const Tensor host = to_host(l.context(), held);
    for (const float value : host.span<float>()) REQUIRE(value == 7.0F);
    held = {};
    ++checked;
  };
  const Recipe recipe{.prepare = [&](Learner& learn) {
    callbacks::on(learn, Event::batch_begin, hold);
    callbacks::on(learn, Event::batch_end, look);
  }};
  check_two_graphs(train(recipe, true).counts, recipe.epochs);
  CHECK(checked == kBatches);
}

TEST_CASE("predictions and losses that a callback keeps are not written over by later replays") {
  std::vector<Tensor> kept, seen;
  const auto keep = [&](Learner& l) {
    if (!l.progress().training) return;
    for (const Var& result : {l.batch().pred, l.batch().loss}) {
      kept.push_back(result.value());
      seen.push_back(to_host(l.context(), result.value()));
    }
  };
  Training training({.prepare = [&](Learner& l) { callbacks::on(l, Event::batch_end, keep); }});
  training.learner().add<callbacks::CudaGraph>();
  training.fit(4);
  check_two_graphs(training.result().counts, 4);
  REQUIRE(kept.size() == 8 * std::size_t{kBatches});
  for (std::size_t i = 0; i < kept.size(); ++i) {
    CAPTURE(i);
    CHECK(same_bits(to_host(training.learner().context(), kept[i]), seen[i]));
  }
}

TEST_CASE("freezing in the middle of a fit drops the graphs") {
  const Recipe recipe{.epochs = 4, .prepare = [](Learner& learn) {
                        callbacks::on(learn, Event::epoch_begin, [](Learner& l) {
                          if (l.progress().epoch == 2) l.params().slot(0).trainable = false;
                        });
                      }};
  const Trained graph = check_graph_equals_eager(recipe);
  CHECK(graph.counts.captured == 2);  // of the three full batches of two epochs, twice
  CHECK(graph.counts.replayed > 0);
}

TEST_CASE("an option of a callback that changes in the middle of a fit drops the graphs") {
  const Recipe recipe{.prepare = [](Learner& learn) { learn.add<Fading>(); }};
  const Trained graph = check_graph_equals_eager(recipe);
  CHECK(graph.counts.captured == 2);  // of the full batches, before and after
  CHECK(graph.counts.replayed > 0);
}

TEST_CASE("a different scale of the optimizer drops the graphs") {
  const Recipe recipe{.prepare = [](Learner& learn) {
    callbacks::on(learn, Event::epoch_begin, [](Learner& l) {
      // A clean step doubles it from the third epoch on.
      if (l.progress().epoch == 2) l.optimizer().set_loss_scaling({.growth_interval = 1});
    });
  }};
  const Trained graph = check_graph_equals_eager(recipe);
  CHECK(graph.control.loss_scale == 256);  // eight steps
  CHECK(graph.counts.captured == 2);
}

TEST_CASE("a loss that declares a change is captured again") {
  double less = 0;
  const auto loss = [&](const Var& pred, const Tensor& y) {
    return ops::scale(nn::cross_entropy().fn(pred, y), 1 - less);
  };
  const Recipe recipe{.loss = nn::Loss{"fading", loss}, .prepare = [&](Learner& learn) {
                        less = 0;
                        callbacks::on(learn, Event::epoch_begin, [&](Learner& l) {
                          if (l.progress().epoch != 2) return;
                          less = 0.5;
                          l.step_changed();
                        });
                      }};
  const Trained graph = check_graph_equals_eager(recipe);
  CHECK(graph.counts.captured == 2);
  CHECK(graph.counts.replayed > 0);
}

TEST_CASE("a callback that needs the host keeps the step eager, and one warning names it") {
  const Recipe recipe{.epochs = 1, .prepare = [](Learner& learn) {
                        callbacks::on(
                            learn, Event::step_begin, [](Learner&) {}, "watcher");
                      }};
  const test::LogFile log;
  const Trained graph = check_graph_equals_eager(recipe);
  CHECK(graph.counts.captured + graph.counts.replayed + graph.counts.eager == 0);
  CHECK(log.count("[cuda_graph]") == 1);
  CHECK(log.count("these need the host: 'watcher' at step_begin") == 1);
}

TEST_CASE(
    "a callback that waits for the device although it declares otherwise keeps the step eager") {
  const Recipe recipe{.epochs = 2, .prepare = [](Learner& learn) {
                        learn.add<Pretender>([](Learner& l) {
                          static_cast<void>(to_host(l.context(), l.batch().loss.value()));
                        });
                      }};
  const test::LogFile log;
  const Trained graph = check_graph_equals_eager(recipe);
  CHECK(graph.counts.captured == 0);
  CHECK(graph.counts.eager == 2 * kBatches);
  CHECK(log.count("the training step is not captured: ") == 1);
  CHECK(log.count("('pretender' at backward_end) waits for the device") == 1);
}

TEST_CASE("a step with the TensorBoard callback stays a graph, with the same bits") {
  const TemporaryFolder folder;
  Recipe recipe{.images = DType::f16, .padded = true, .prepare = [](Learner& learn) {
                  callbacks::to_fp16(learn);
                }};
  const Trained without = train(recipe, true);
  std::int64_t drawn = 0;
  recipe.prepare = [&](Learner& learn) {
    callbacks::to_fp16(learn);
    learn.add<callbacks::TensorBoard>(callbacks::TensorBoardOptions{
        .path = folder.path(),
        .images = 3,
        .draw = [&](Context& ctx, const Batch& batch, const Tensor& logits, const auto& title) {
          const std::vector<std::string> classes(10, "a");
          drawn += batch.size();
          return data::batch_grid(ctx, batch, logits, classes, {}, title);
        }});
  };
  const Trained with = train(recipe, true);
  check_same_bits(with, without);
  CHECK(with.counts.replayed == without.counts.replayed);
  CHECK(with.counts.replayed > 0);
  CHECK(drawn == 2 * 3 * recipe.epochs);  // of training and of validation
}

TEST_CASE("a loss that is not finite skips its step on the device, and ends the training") {
  const auto spoil = [](Learner& learn) {
    learn.add<callbacks::TerminateOnNan>();
    callbacks::on(learn, Event::batch_begin, [](Learner& l) {
      // The eleventh batch, which is a replay, and the one after it, which is not to continue from
      // NaN.
      if (l.progress().batch_clock != 10 || !l.progress().training) return;
      Tensor x = l.batch().x;
      kernels::fill(l.context(), x, std::numeric_limits<double>::quiet_NaN());
    });
  };
  const Recipe recipe{.epochs = 5, .prepare = spoil};
  const Trained graph = check_graph_equals_eager(recipe);
  CHECK(graph.counts.replayed > 0);
  CHECK(graph.losses.size() == 12);  // to the end of the epoch
  CHECK((std::isnan(graph.losses[10]) && std::isfinite(graph.losses[11])));
  CHECK(graph.control.step == 11);
  CHECK(graph.control.skipped == 1);
  CHECK(std::isnan(graph.valid_loss));  // what has diverged is not validated
}

TEST_CASE("a throw under capture leaves the learner usable") {
  bool armed = true;
  int calls = 0;
  const Recipe recipe{.prepare = [&](Learner& learn) {
    learn.add<Pretender>([&](Learner&) {
      if (armed && ++calls == GraphStep::kWarmUp + 1) throw std::runtime_error("under capture");
    });
  }};
  Training training(recipe);
  training.learner().add<callbacks::CudaGraph>();
  CHECK_THROWS_WITH_AS(training.fit(1), "under capture", std::runtime_error);
  CHECK(calls == GraphStep::kWarmUp + 1);
  armed = false;
  training.fit(recipe.epochs);
  check_two_graphs(training.result().counts, recipe.epochs);
}
