// The state of rank 0 on all ranks, which are threads, and fits that another number of ranks
// continues.
#include "framework/learner/share_state.h"

#include "callbacks/ema.h"
#include "callbacks/interrupt.h"
#include "framework/learner/find/memory_state.h"
#include "framework/learner/history/recorder.h"
#include "framework/optim/adam.h"
#include "tests/callbacks/bars_training.h"

#include <atomic>
#include <limits>

using namespace bars;

namespace {

constexpr std::int64_t kEpochs = 4;
constexpr std::int64_t kStop = 6;  // batches; an epoch has 4

/// State of each kind, as only rank 0 may have it.
class Notes final : public Callback {
 public:
  [[nodiscard]] std::string_view name() const override { return "notes"; }
  [[nodiscard]] int order() const override { return order::kTracker; }
  void visit_state(StateVisitor& visitor) override {
    visitor.visit("text", text);
    visitor.visit("empty", empty);
    visitor.visit("integer", integer);
    visitor.visit("real", real);
    visitor.visit("tensor", tensor);
    visitor.visit("nothing", nothing);
  }

  std::string text, empty = "not yet";
  std::int64_t integer = 0;
  double real = 0;
  Tensor tensor = host_tensor({2, 3}, DType::bf16);
  Tensor nothing = host_tensor({0, 4}, DType::f32);
};

/// A rank's learner.
struct Rank {
  explicit Rank(Communicator* communicator, const LearnerOptions& options = usual())
      : learn(ctx,
              nn::make_model<Net>("net",
                                  {kSide, kSide, kColors},
                                  kClasses,
                                  Parts{.batch_norm = true, .dropout = 0.25}),
              {train, valid},
              options) {
    if (communicator != nullptr)
      learn.add<callbacks::DataParallel>(*communicator,
                                         callbacks::DataParallelOptions{.sync_bn = true});
    learn.add<callbacks::Interrupt>(stop);
    // Only rank 0 reports.
    if (communicator == nullptr || communicator->place().rank == 0) learn.add<Recorder>();
  }
  static LearnerOptions usual() {
    LearnerOptions options;
    options.report = Report::off;
    options.optimizer = optim::adam();
    options.metrics = {metrics::accuracy()};
    return options;
  }
  void stop_after(std::int64_t batches) {
    callbacks::on(learn, Event::batch_begin, [this, batches](Learner& l) {
      if (l.progress().training && l.progress().batch_clock == batches - 1) stop = 15;
    });
  }
  void fit() { learn.fit_one_cycle(kEpochs, 0.01); }
  [[nodiscard]] std::vector<float> weights() {
    std::vector<float> all = floats(learn.params().flat_master());
    for (const float value : floats(learn.params().flat_buffers())) all.push_back(value);
    return all;
  }

  Context ctx{{.threads = 1, .arena = {.poison = true}}};
  data::Dataset training = bar_images(44);
  data::Dataset validation = bar_images(7);
  data::Loader train{ctx, training, {.batch_size = 12, .shuffle = true, .workers = 0}};
  data::Loader valid{ctx, validation, {.batch_size = 4, .workers = 0}};
  std::atomic<int> stop = 0;
  Learner learn;
};

MemoryState state_of(Learner& learn) {
  MemoryState state;
  MemorySaver saver(state);
  learn.visit_state(saver);
  return state;
}

/// Continues a fit, or starts one if `state` is empty; ends after `batches` of it, if not 0.
/// Replaces `state` by rank 0's. Returns the weights of rank 0, which all have.
std::vector<float> run_part(int ranks, MemoryState& state, std::int64_t batches) {
  std::vector<std::vector<float>> weights(static_cast<std::size_t>(ranks));
  MemoryState after;
  run_ranks(ranks, [&](ThreadCommunicator& communicator) {
    const int rank = communicator.place().rank;
    Rank mine(&communicator);
    if (!state.tensors.empty()) {
      if (rank == 0) {
        MemoryLoader loader(state);
        mine.learn.visit_state(loader);
      }
      share_state(mine.learn, communicator);
      mine.learn.resume();
    }
    // A signal that only one rank receives.
    if (batches > 0 && rank == ranks - 1) mine.stop_after(batches);
    mine.fit();
    if (ranks > 1) CHECK(mine.learn.exchange()->end_requested() == (batches > 0 ? 15 : 0));
    CHECK(mine.learn.progress().batch_clock == (batches > 0 ? batches : 4 * kEpochs));
    weights[static_cast<std::size_t>(rank)] = mine.weights();
    if (rank == 0) after = state_of(mine.learn);
  });
  for (const std::vector<float>& other : weights) CHECK(same(other, weights.front()));
  state = std::move(after);
  return weights.front();
}

double distance(const std::vector<float>& a, const std::vector<float>& b) {
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    most = std::max(most, static_cast<double>(std::abs(a[i] - b[i])));
  return most;
}

}  // namespace

TEST_CASE("Each kind of state reaches the other ranks with its bits") {
  run_ranks(3, [](ThreadCommunicator& communicator) {
    Rank mine(&communicator);
    auto& notes = mine.learn.add<Notes>();
    if (communicator.place().rank == 0) {
      notes.text = "two\nlines, and a zero:" + std::string(1, '\0');
      notes.empty.clear();
      notes.integer = -7;
      notes.real = std::numeric_limits<double>::denorm_min();
      for (std::size_t i = 0; i < notes.tensor.bytes(); ++i)
        notes.tensor.raw()[i] = static_cast<std::byte>(37 * i + 1);
    }
    set(mine.learn.params().flat_master(), 0, static_cast<float>(communicator.place().rank) + 3);
    share_state(mine.learn, communicator);
    CHECK(notes.text == "two\nlines, and a zero:" + std::string(1, '\0'));
    CHECK(notes.empty.empty());
    CHECK(notes.integer == -7);
    CHECK(notes.real == std::numeric_limits<double>::denorm_min());
    for (std::size_t i = 0; i < notes.tensor.bytes(); ++i)
      CHECK(notes.tensor.raw()[i] == static_cast<std::byte>(37 * i + 1));
    CHECK(get(mine.learn.params().flat_master(), 0) == 3);
  });
}

TEST_CASE("Two ranks continue a fit in an epoch with the bits of one that never stopped") {
  MemoryState none;
  const std::vector<float> whole = run_part(2, none, 0);
  MemoryState state;
  (void)run_part(2, state, kStop);
  CHECK(same(run_part(2, state, 0), whole));
}

TEST_CASE("Any number of ranks continues a fit in an epoch") {
  MemoryState none;
  const std::vector<float> whole = run_part(2, none, 0);
  for (const std::vector<int>& numbers : {std::vector{2, 3}, {2, 1, 4}, {3, 2}, {4, 1}}) {
    CAPTURE(numbers.size());
    CAPTURE(numbers.back());
    MemoryState state;
    for (std::size_t i = 0; i + 1 < numbers.size(); ++i)
      (void)run_part(numbers[i], state, kStop + 4 * static_cast<std::int64_t>(i));
    CHECK(distance(run_part(numbers.back(), state, 0), whole) < 1e-4);
  }
}

TEST_CASE("A single rank keeps its state") {
  run_ranks(1, [](ThreadCommunicator& communicator) {
    Rank mine(&communicator);
    mine.fit();
    const std::vector<float> before = mine.weights();
    share_state(mine.learn, communicator);
    CHECK(same(mine.weights(), before));
  });
}

TEST_CASE("State that rank 0 lacks is an error that names the rank") {
  CHECK_THROWS_WITH_AS(
      run_ranks(3,
                [](ThreadCommunicator& communicator) {
                  Rank mine(&communicator);
                  if (communicator.place().rank == 2) mine.learn.add<callbacks::Ema>();
                  share_state(mine.learn, communicator);
                }),
      doctest::Contains("rank 2 (testhost) has callbacks or optimizer state that rank 0 lacks"),
      RanksError);
}

TEST_CASE("State of another shape or type is an error with both") {
  CHECK_THROWS_WITH_AS(run_ranks(2,
                                 [](ThreadCommunicator& communicator) {
                                   Rank mine(&communicator);
                                   auto& notes = mine.learn.add<Notes>();
                                   if (communicator.place().rank == 1)
                                     notes.tensor = host_tensor({3, 2}, DType::bf16);
                                   share_state(mine.learn, communicator);
                                 }),
                       doctest::Contains("notes.tensor' is bf16 (2,3) there, bf16 (3,2) here"),
                       CheckpointError);
  CHECK_THROWS_WITH_AS(run_ranks(2,
                                 [](ThreadCommunicator& communicator) {
                                   Rank mine(&communicator);
                                   auto& notes = mine.learn.add<Notes>();
                                   if (communicator.place().rank == 1)
                                     notes.tensor = host_tensor({2, 3}, DType::f32);
                                   share_state(mine.learn, communicator);
                                 }),
                       doctest::Contains("notes.tensor' is bf16 (2,3) there, f32 (2,3) here"),
                       CheckpointError);
}
