#pragma once
#include "callbacks/cuda_graph.h"
#include "data/loading/augmentation.h"
#include "data/loading/loader.h"
#include "data/sets/registry.h"
#include "framework/learner/history/recorder.h"
#include "framework/learner/learner.h"
#include "framework/nn/loss.h"
#include "framework/optim/adam.h"
#include "models/registry.h"
#include "tests/support/memory_state.h"

#include <doctest/doctest.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

/// A training on the device, with its step as a CUDA graph or without: the bits are equal.
namespace learn::test::graph {

inline constexpr std::int64_t kBatches = 4;  // of four images, the last one of two

using Prepare = std::function<void(Learner&)>;

struct Recipe {
  std::string model = "small:width=4";
  std::int64_t epochs = 4;
  bool resident = true;  ///< images on the device, or uploaded batch by batch
  DType images = DType::f32;
  bool padded = false;  ///< LoaderOptions::pad_channels
  nn::Loss loss = nn::cross_entropy();
  Prepare prepare = [](Learner&) {};
};

/// All results of a training.
struct Trained {
  MemoryState state;
  std::vector<double> losses;
  double valid_loss = 0;
  StepControl control;
  GraphStepCounts counts;
};

class Training {
 public:
  explicit Training(const Recipe& recipe)
      : ctx_({.device = Device::cuda()}),
        images_(data::load("synthetic10", {.train_limit = 14, .valid_limit = 5})),
        stats_(data::measure(images_.train)),
        batches_(ctx_,
                 images_.train,
                 {.batch_size = 4,
                  .shuffle = true,
                  .dtype = recipe.images,
                  .normalization = stats_,
                  .transforms = data::augmentation("basic", 32, 32),
                  .resident = recipe.resident,
                  .pad_channels = recipe.padded}),
        valid_(ctx_,
               images_.valid,
               {.batch_size = 5,
                .dtype = recipe.images,
                .normalization = stats_,
                .pad_channels = recipe.padded}),
        learn_(ctx_,
               models::make_model(recipe.model),
               {batches_, valid_},
               {.loss = recipe.loss,
                .optimizer = optim::adamw({.weight_decay = 0.01F}),
                .report = Report::record}),
        recorder_(*learn_.find<Recorder>()) {
    recipe.prepare(learn_);
  }

  Learner& learner() { return learn_; }
  void fit(std::int64_t epochs) { learn_.fit_one_cycle(epochs, 0.01); }

  Trained result() {
    Trained out;
    out.state = save(ctx_, learn_.params(), learn_.optimizer());
    for (const BatchRecord& batch : recorder_.batches(learn_)) out.losses.push_back(batch.loss);
    out.valid_loss = learn_.results().valid_loss;
    out.control = learn_.optimizer().read_control();
    if (const auto* graph = learn_.find<callbacks::CudaGraph>()) out.counts = graph->counts();
    return out;
  }

 private:
  Context ctx_;
  data::DataPair images_;
  data::Normalization stats_;
  data::Loader batches_, valid_;
  Learner learn_;
  Recorder& recorder_;
};

inline Trained train(const Recipe& recipe, bool graph) {
  Training training(recipe);
  if (graph) training.learner().add<callbacks::CudaGraph>();
  training.fit(recipe.epochs);
  return training.result();
}

inline void check_same_bits(const Trained& graph, const Trained& eager) {
  REQUIRE(graph.losses.size() == eager.losses.size());
  for (std::size_t i = 0; i < eager.losses.size(); ++i) {
    CAPTURE(i);
    CHECK(std::bit_cast<std::uint64_t>(graph.losses[i]) ==
          std::bit_cast<std::uint64_t>(eager.losses[i]));  // a NaN too
  }
  CHECK(std::bit_cast<std::uint64_t>(graph.valid_loss) ==
        std::bit_cast<std::uint64_t>(eager.valid_loss));
  CHECK(graph.state.integers == eager.state.integers);
  CHECK(graph.state.reals == eager.state.reals);
  REQUIRE(graph.state.tensors.size() == eager.state.tensors.size());
  for (const auto& entry : eager.state.tensors) {
    CAPTURE(entry.first);
    const Tensor& other = graph.state.tensors.at(entry.first);
    REQUIRE(other.bytes() == entry.second.bytes());
    CHECK(std::memcmp(other.raw(), entry.second.raw(), other.bytes()) == 0);
  }
}

/// Both ways; returns what the graphs did.
inline Trained check_graph_equals_eager(const Recipe& recipe) {
  const Trained eager = train(recipe, false);
  Trained graph = train(recipe, true);
  check_same_bits(graph, eager);
  return graph;
}

/// Most batches are replays. If x is created for each batch, its address may differ until the arena
/// has reached its size, which adds one kind of step or two.
inline void check_replayed(const GraphStepCounts& counts, std::int64_t epochs) {
  CHECK(counts.captured >= 2);
  CHECK(counts.captured <= 4);
  CHECK(counts.replayed > counts.captured);
  CHECK(counts.eager + counts.captured + counts.replayed == kBatches * epochs);
}

/// Two kinds of batches, each warmed up twice and captured once; the others are replays.
inline void check_two_graphs(const GraphStepCounts& counts, std::int64_t epochs) {
  CHECK(counts.captured == 2);
  CHECK(counts.eager == 2 * GraphStep::kWarmUp);
  CHECK(counts.replayed == kBatches * epochs - counts.captured - counts.eager);
  CHECK(counts.operations > 10);
}

}  // namespace learn::test::graph
