// Decisions, outputs and errors of several ranks, which are threads.
#include "callbacks/gradient_accumulation.h"
#include "callbacks/interrupt.h"
#include "callbacks/precision/mixed_precision.h"
#include "callbacks/precision/native_mixed_precision.h"
#include "callbacks/terminate_on_nan.h"
#include "tests/callbacks/bars_training.h"

#include <atomic>
#include <cmath>

using namespace bars;

namespace {

/// Makes the inputs of a sample infinite, so that gradients are not finite.
class Overflow final : public Callback {
 public:
  Overflow(std::int64_t batch, std::int64_t sample) : batch_(batch), sample_(sample) {}
  [[nodiscard]] std::string_view name() const override { return "overflow"; }
  void batch_begin(Learner& l) override {
    const std::int64_t row = sample_ - l.batch().first;
    if (!l.progress().training || l.progress().batch_clock != batch_ || row < 0 ||
        row >= l.batch().size())
      return;
    Tensor x = l.context().empty(l.batch().x.shape(), l.batch().x.dtype());
    copy(l.context(), l.batch().x, x);
    for (std::int64_t i = 0; i < x.elements() / x.shape()[0]; ++i)
      set(x, row * (x.elements() / x.shape()[0]) + i, INFINITY);
    l.set_x(x);
  }

 private:
  std::int64_t batch_, sample_;
};

/// A user's metric that is not a mean over samples.
struct LargestMargin {
  double largest = 0;
  void add(Context& ctx, const Tensor& pred, const Tensor& target) {
    const Tensor rows = to_host(ctx, pred);
    for (std::int64_t i = 0; i < target.elements(); ++i)
      largest = std::max(largest,
                         std::abs(get(rows, i * kClasses) - get(rows, i * kClasses + 1)) +
                             static_cast<double>(i));  // depends on the order of batches
  }
  [[nodiscard]] double value() const { return largest; }
};

/// A rank's training with one more callback for some of the ranks.
void train_with(ThreadCommunicator& communicator, std::function<void(Learner&)> add) {
  Case c{.name = "one more"};
  c.callbacks = std::move(add);
  (void)train(c, &communicator, {});
}

}  // namespace

TEST_CASE("An overflow in one rank's share skips the step on all, as in one process") {
  for (auto* const precision : {+[](Learner& l) { callbacks::to_fp16(l); },
                                +[](Learner& l) { (void)callbacks::to_native_fp16(l); }})
    for (const std::int64_t accumulate : {1, 2}) {
      CAPTURE(accumulate);
      const Case c{.name = "overflow",
                   .callbacks =
                       [&](Learner& l) {
                         precision(l);
                         l.add<Overflow>(8, 7);
                         if (accumulate > 1)
                           l.add<callbacks::GradientAccumulation>(
                               callbacks::AccumulateEvery{.batches = accumulate});
                       },
                   .tolerance = 2e-2};  // as for fp16 above
      const Trained alone = train(c, nullptr, {});
      CHECK(alone.control.skipped == 1);
      for (const int ranks : {2, 3}) {
        CAPTURE(ranks);
        const Trained all = train_in_ranks(c, ranks);
        CHECK(all.control.skipped == 1);
        CHECK(all.control.loss_scale == alone.control.loss_scale);
        CHECK(all.control.step == alone.control.step);
      }
    }
}

TEST_CASE("A decision of one rank alone is an error that names it") {
  const auto cancel = [](Learner& l) {
    callbacks::on(l, Event::backward_begin, [](Learner& at) {
      if (at.progress().batch_clock == 2) at.cancel(Scope::train);
    });
  };
  CHECK_THROWS_WITH_AS(run_ranks(2,
                                 [&](ThreadCommunicator& communicator) {
                                   if (communicator.place().rank == 1)
                                     train_with(communicator, cancel);
                                   else
                                     train_with(communicator, [](Learner&) {});
                                 }),
                       doctest::Contains("rank 1 (testhost)"),
                       RanksError);
  const auto skip = [](Learner& l) {
    callbacks::on(l, Event::backward_begin, [](Learner& at) {
      if (at.progress().batch_clock == 2) at.skip_step();
    });
  };
  CHECK_THROWS_WITH_AS(
      run_ranks(2,
                [&](ThreadCommunicator& communicator) {
                  if (communicator.place().rank == 1)
                    train_with(communicator, skip);
                  else
                    train_with(communicator, [](Learner&) {});
                }),
      doctest::Contains("rank 0 (testhost) updates with training batch 3 of 12 samples, but "
                        "rank 1 (testhost) skips training batch 3"),
      RanksError);
}

TEST_CASE("Ranks that are at different places are an error that names both") {
  CHECK_THROWS_WITH_AS(run_ranks(2,
                                 [](ThreadCommunicator& communicator) {
                                   Exchange exchange(communicator);
                                   (void)exchange.different_rank(communicator.place().rank, 0);
                                 }),
                       doctest::Contains("rank 0 (testhost) compares weights after 0 epochs, but "
                                         "rank 1 (testhost) compares weights after 1 epochs"),
                       RanksError);
}

TEST_CASE("Ranks that train other layers are an error before anything is summed") {
  CHECK_THROWS_WITH_AS(run_ranks(2,
                                 [](ThreadCommunicator& communicator) {
                                   train_with(communicator, [&](Learner& l) {
                                     l.split({"last"});
                                     if (communicator.place().rank == 1) l.freeze();
                                   });
                                 }),
                       doctest::Contains("train other parameters"),
                       RanksError);
  for (const callbacks::DataParallelOptions& other :
       {callbacks::DataParallelOptions{.bucket_mb = 1e-4},
        callbacks::DataParallelOptions{.wire = Wire::half},
        callbacks::DataParallelOptions{.sync_bn = true}})
    CHECK_THROWS_WITH_AS(run_ranks(2,
                                   [&](ThreadCommunicator& communicator) {
                                     const bool first = communicator.place().rank == 0;
                                     (void)train({.name = "options"},
                                                 &communicator,
                                                 first ? callbacks::DataParallelOptions{} : other);
                                   }),
                         doctest::Contains("with other options of DataParallel"),
                         RanksError);
  CHECK_THROWS_WITH_AS(run_ranks(2,
                                 [](ThreadCommunicator& communicator) {
                                   Case c{.name = "model",
                                          .parts = {.batch_norm = communicator.place().rank == 1}};
                                   (void)train(c, &communicator, {});
                                 }),
                       doctest::Contains("different parameters or optimizers"),
                       RanksError);
}

TEST_CASE("All ranks start with rank 0's weights, and are compared after epochs") {
  const Case c{.name = "own weights", .callbacks = [](Learner& l) {
                 const bool first = l.exchange() == nullptr || l.exchange()->share().rank == 0;
                 if (!first) set(l.params().flat_master(), 0, 7);
               }};
  CHECK(train_in_ranks(c, 2) == train_in_ranks({.name = "equal weights"}, 2));
  const auto drift = [](Learner& l) {
    callbacks::on(l, Event::batch_end, [](Learner& at) {
      if (at.progress().epoch == 1 && at.exchange()->share().rank == 1)
        set(at.params().flat_master(), 0, 7);
    });
  };
  CHECK_THROWS_WITH_AS(
      run_ranks(2, [&](ThreadCommunicator& communicator) { train_with(communicator, drift); }),
      doctest::Contains(
          "the weights of rank 0 (testhost) and rank 1 (testhost) differ after epoch 2"),
      RanksError);
}

TEST_CASE("A request to one rank ends all after the same batch") {
  const Case c{.name = "interrupted"};
  std::vector<std::size_t> batches(3);
  run_ranks(3, [&](ThreadCommunicator& communicator) {
    std::atomic<int> flag = 0;
    Case own = c;
    own.callbacks = [&](Learner& l) {
      l.add<callbacks::Interrupt>(flag);
      if (communicator.place().rank == 2)
        callbacks::on(l, Event::batch_begin, [&](Learner& at) {
          if (at.progress().batch_clock == 5) flag = 1;
        });
    };
    batches[static_cast<std::size_t>(communicator.place().rank)] =
        train(own, &communicator, {}).losses.size();
  });
  CHECK(batches == std::vector<std::size_t>{6, 6, 6});
}

TEST_CASE("A loss that is not finite on one rank ends the training on all") {
  const Case c{.name = "NaN", .callbacks = [](Learner& l) {
                 l.add<callbacks::TerminateOnNan>();
                 callbacks::on(l, Event::batch_begin, [](Learner& at) {
                   if (!at.progress().training || at.progress().batch_clock != 5 ||
                       at.exchange()->share().rank != 1)
                     return;
                   Tensor x = full(at.context().step(), at.batch().x.shape(), DType::f32, NAN);
                   at.set_x(x);
                 });
               }};
  CHECK(train_in_ranks(c, 3).losses.size() == 6);
}

TEST_CASE("BatchNorm without enough samples on a rank is refused before the training") {
  CHECK_THROWS_WITH_AS(run_ranks(4,
                                 [](ThreadCommunicator& communicator) {
                                   Context ctx({.threads = 1});
                                   const data::Dataset set =
                                       data::from_arrays({.x = std::vector<float>(3 * 6, 1),
                                                          .sample = {3},
                                                          .classes = {0, 1, 2, 0, 1, 2}});
                                   data::Loader loader(ctx, set, {.batch_size = 6, .workers = 0});
                                   Learner learn(ctx,
                                                 nn::make_model<nn::BatchNorm1d>("bn", {3}, 3, 3),
                                                 {loader},
                                                 {.report = Report::off});
                                   learn.add<callbacks::DataParallel>(communicator);
                                   learn.fit(1);
                                 }),
                       doctest::Contains("the smallest training batch has 6 samples for 4 ranks"),
                       UsageError);
}

TEST_CASE("Outputs of all samples have the bits and the order of one process") {
  const data::Dataset set = bar_images(7);
  const auto predict = [&](Communicator* communicator) {
    Context ctx({.threads = 1});
    data::Loader loader(ctx, set, {.batch_size = 3, .workers = 0});
    Learner learn(ctx,
                  nn::make_model<Net>("net", {kSide, kSide, kColors}, kClasses, Parts{}),
                  {loader},
                  {.metrics = {metrics::accuracy(),
                               metrics::top_k(2),
                               metrics::recall(),
                               metrics::precision(),
                               metrics::f1(),
                               metrics::kappa(),
                               metrics::mcc(),
                               metrics::auc(),
                               metrics::ece(),
                               Metric{"own", LargestMargin{}}},
                   .report = Report::off});
    if (communicator != nullptr) learn.add<callbacks::DataParallel>(*communicator);
    const Predictions got =
        learn.get_preds(loader, {.with_inputs = true, .with_losses = true, .with_decoded = true});
    std::vector<float> all = floats(got.preds);
    for (const Tensor* const part : {&got.inputs, &got.losses})
      all.insert(all.end(), part->span<float>().begin(), part->span<float>().end());
    for (const Tensor* const part : {&got.targets, &got.decoded})
      for (const std::int64_t value : part->span<std::int64_t>())
        all.push_back(static_cast<float>(value));
    for (const auto& [name, value] : learn.evaluate(loader).metrics)
      all.push_back(static_cast<float>(value));
    const auto one = learn.predict(full(ctx.step(), {1, kSide, kSide, kColors}, DType::f32, 1));
    all.insert(all.end(), one.span<float>().begin(), one.span<float>().end());
    return all;
  };
  const std::vector<float> alone = predict(nullptr);
  for (const int ranks : {2, 3, 4})
    run_ranks(ranks,
              [&](ThreadCommunicator& communicator) { CHECK(predict(&communicator) == alone); });
}

TEST_CASE("A deferred batch sends no gradients, and an update each of them once") {
  const auto summed = [](std::int64_t window) {
    std::size_t bytes = 0;
    run_ranks(2, [&](ThreadCommunicator& communicator) {
      train_with(communicator, [&](Learner& l) {
        if (window > 1)
          l.add<callbacks::GradientAccumulation>(callbacks::AccumulateEvery{.batches = window});
      });
      if (communicator.place().rank == 0) bytes = communicator.traffic().summed_bytes;
    });
    return bytes;
  };
  // 20 batches in 5 epochs of 4.
  const std::size_t each = summed(1);
  CHECK(each % 20 == 0);
  CHECK(summed(2) == each / 2);
  CHECK(summed(4) == each / 4);
}

TEST_CASE("A learner trains alone again once its ranks are removed") {
  std::vector<std::vector<float>> weights(2);
  run_ranks(2, [&](ThreadCommunicator& communicator) {
    train_with(communicator, [&](Learner& l) {
      l.fit(1, 0.05);
      const std::size_t sums = communicator.traffic().sums;
      l.remove(*l.find<callbacks::DataParallel>());
      l.fit(1, 0.05);
      CHECK(communicator.traffic().sums == sums);
      weights[static_cast<std::size_t>(communicator.place().rank)] =
          floats(l.params().flat_master());
    });
  });
  CHECK(weights[0] == weights[1]);  // whole batches on both
}

TEST_CASE("A sweep of rates gives several ranks the curve of one process") {
  for (const std::int64_t accumulate : {1, 2}) {
    CAPTURE(accumulate);
    std::vector<LrFindResult> found(3);
    const auto sweep = [&](std::size_t rank) {
      return Case{
          .name = "sweep", .epochs = 1, .callbacks = [&found, accumulate, rank](Learner& l) {
            if (accumulate > 1)
              l.add<callbacks::GradientAccumulation>(
                  callbacks::AccumulateEvery{.batches = accumulate});
            found[rank] = l.lr_find({.start = 1e-4, .end = 1e-1, .iterations = 20});
          }};
    };
    (void)train(sweep(0), nullptr, {});
    const LrFindResult alone = found[0];
    CHECK(alone.losses.size() == 20);
    for (const int ranks : {2, 3}) {
      CAPTURE(ranks);
      run_ranks(ranks, [&](ThreadCommunicator& communicator) {
        (void)train(sweep(static_cast<std::size_t>(communicator.place().rank)), &communicator, {});
      });
      for (int rank = 0; rank < ranks; ++rank) {
        const LrFindResult& one = found[static_cast<std::size_t>(rank)];
        CHECK(one.lrs == alone.lrs);
        CHECK(one.losses == found[0].losses);
        REQUIRE(one.losses.size() == alone.losses.size());
        for (std::size_t i = 0; i < alone.losses.size(); ++i)
          CHECK(one.losses[i] == doctest::Approx(alone.losses[i]).epsilon(2e-5));
      }
    }
  }
}

TEST_CASE("The largest batch size is not looked for by several ranks") {
  CHECK_THROWS_WITH_AS(
      run_ranks(2,
                [](ThreadCommunicator& communicator) {
                  train_with(communicator, [](Learner& l) {
                    (void)l.batch_size_find(
                        [](std::int64_t) -> std::unique_ptr<BatchSource> { return nullptr; });
                  });
                }),
      doctest::Contains("run it without other ranks"),
      UsageError);
}

TEST_CASE("Outputs without a row for each sample cannot be joined") {
  run_ranks(2, [](ThreadCommunicator& communicator) {
    Context ctx({.threads = 1});
    Exchange exchange(communicator);
    const Batch batch{.x = full(ctx.step(), {2, 3}, DType::f32, 0), .whole = 4};
    CHECK_THROWS_WITH_AS((void)exchange.whole(ctx, full(ctx.step(), {6}, DType::f32, 0), batch),
                         doctest::Contains("whose first extent must be the number of samples"),
                         UsageError);
  });
}

TEST_CASE("Options that make no sense are refused") {
  CHECK_THROWS_AS(callbacks::DataParallel({.timeout = -1}), UsageError);
  CHECK_THROWS_AS(callbacks::DataParallel({.timeout = NAN}), UsageError);
  run_ranks(1, [](ThreadCommunicator& communicator) {
    CHECK_THROWS_AS(callbacks::DataParallel(communicator, {.bucket_mb = 0}), UsageError);
    CHECK_THROWS_AS(callbacks::DataParallel(communicator, {.verify = -1}), UsageError);
  });
}
