// Several ranks, which are threads, go back to the state that rank 0 saved.
#include "callbacks/checkpointer.h"
#include "callbacks/rollback.h"
#include "callbacks/terminate_on_nan.h"
#include "framework/io/atomic_file.h"
#include "framework/learner/history/recorder.h"
#include "tests/callbacks/bars_training.h"
#include "tests/support/temporary_folder.h"

#include <atomic>
#include <cmath>

using namespace bars;

namespace {

/// Makes the inputs of a sample infinite at batch 10, in epoch 3, until the rate was halved
/// `times`.
void diverge(Learner& learn, int times) {
  callbacks::on(learn, Event::batch_begin, [times](Learner& l) {
    const std::int64_t row = 7 - l.batch().first;
    if (!l.progress().training || l.progress().batch_clock != 9 || row < 0 ||
        row >= l.batch().size() || l.optimizer().lr_factor() <= std::pow(0.5F, times))
      return;
    Tensor x = l.context().empty(l.batch().x.shape(), l.batch().x.dtype());
    copy(l.context(), l.batch().x, x);
    set(x, row * (x.elements() / x.shape()[0]), INFINITY);
    l.set_x(x);
  });
}

bool is_first(const Learner& l) { return l.exchange() == nullptr || l.exchange()->rank() == 0; }

/// Only rank 0 has a folder.
Case diverging(const TemporaryFolder& folder, int times, std::atomic<std::int64_t>& made) {
  return {.name = "rollbacks",
          .callbacks =
              [&folder, times](Learner& l) {
                l.add<callbacks::TerminateOnNan>();
                if (is_first(l)) {
                  l.add<Recorder>();
                  l.add<callbacks::Checkpointer>(
                      callbacks::CheckpointerOptions{.folder = folder.path()});
                }
                diverge(l, times);
              },
          .fit =
              [&made](Learner& l) {
                made += callbacks::fit_with_rollbacks(l, [&] { l.fit(5, kRate); });
              }};
}

}  // namespace

TEST_CASE("All ranks go back to the state of rank 0 as one process does") {
  for (const int times : {1, 2}) {
    CAPTURE(times);
    const TemporaryFolder folder;
    std::atomic<std::int64_t> made = 0;
    const Case c = diverging(folder, times, made);
    const Trained alone = train(c, nullptr, {});
    CHECK(made == times);
    CHECK(alone.control.skipped == 0);
    for (const int ranks : {2, 3}) {
      CAPTURE(ranks);
      made = 0;
      const TemporaryFolder of_ranks;
      const Trained all = train_in_ranks(diverging(of_ranks, times, made), ranks);
      CHECK(made == times * ranks);
      REQUIRE(all.losses.size() == alone.losses.size());
      for (std::size_t i = 0; i < all.losses.size(); ++i)
        if (std::isfinite(alone.losses[i]))
          CHECK(all.losses[i] == doctest::Approx(alone.losses[i]).epsilon(c.tolerance));
    }
  }
}

TEST_CASE("Ranks that no rate helps end together with the state before") {
  const TemporaryFolder folder;
  std::atomic<std::int64_t> made = 0;
  Case c = diverging(folder, 10, made);
  c.callbacks = [add = c.callbacks](Learner& l) {
    add(l);
    callbacks::on(l, Event::train_end, [](Learner& at) {
      CHECK(at.find<callbacks::TerminateOnNan>()->terminated());
    });
  };
  (void)train_in_ranks(c, 2);
  CHECK(made == 3 * 2);
}

TEST_CASE("A state that rank 0 cannot read ends all ranks") {
  const TemporaryFolder folder;
  std::atomic<std::int64_t> made = 0;
  Case c = diverging(folder, 1, made);
  c.callbacks = [&, add = c.callbacks](Learner& l) {
    add(l);
    callbacks::on(l, Event::train_end, [&](Learner& at) {
      if (!is_first(at)) return;
      for (const auto& file : std::filesystem::recursive_directory_iterator(folder.path()))
        if (file.is_regular_file()) write_file_atomically(file.path(), "damaged");
    });
  };
  CHECK_THROWS_AS((void)train_in_ranks(c, 2), CheckpointError);
  CHECK(made == 0);
}
