// Trainings whose gradients go through NCCL, also with one rank, which learn itself trains without.
#include "callbacks/cuda_graph.h"
#include "callbacks/precision/mixed_precision.h"
#include "data/loading/loader.h"
#include "data/sets/registry.h"
#include "framework/learner/exchange.h"
#include "framework/learner/history/recorder.h"
#include "framework/learner/learner.h"
#include "framework/optim/sgd.h"
#include "framework/runtime/transfer.h"
#include "models/registry.h"
#include "tests/lab/cuda/nccl/world.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace learn {
namespace {

using testing::gpu;
using testing::world;

/// Joins the ranks of the test program, as DataParallel joins several.
class Joined final : public Callback {
 public:
  [[nodiscard]] std::string_view name() const override { return "joined"; }
  [[nodiscard]] int order() const override { return order::kDataParallel; }
  [[nodiscard]] bool capturable() const override { return true; }
  [[nodiscard]] Exchange* exchange() override { return &exchange_; }

 private:
  Exchange exchange_{world(), {.bucket_bytes = 4096, .sync_bn = true}};
};

enum class Way { alone, eager, captured };

struct Recipe {
  std::string model;
  bool half = false;
};

struct Trained {
  std::vector<double> losses;
  std::vector<std::byte> weights;
  bool operator==(const Trained&) const = default;
};

Trained trained(const Recipe& recipe, Way way) {
  const data::DataPair images = data::load("synthetic10", {.train_limit = 15, .valid_limit = 5});
  const DType dtype = recipe.half ? DType::f16 : DType::f32;
  data::Loader batches(gpu(), images.train, {.batch_size = 4, .shuffle = true, .dtype = dtype});
  data::Loader valid(gpu(), images.valid, {.batch_size = 4, .dtype = dtype});
  Learner learn(gpu(),
                models::make_model(recipe.model),
                {batches, valid},
                {.optimizer = optim::sgd(), .report = Report::record});
  if (recipe.half) learn.add<callbacks::MixedPrecision>();
  if (way != Way::alone) learn.add<Joined>();
  const auto* graph = way == Way::captured ? &learn.add<callbacks::CudaGraph>() : nullptr;
  learn.fit(2, 0.05);
  if (graph != nullptr) CHECK(graph->counts().replayed > 0);
  Trained result;
  for (const BatchRecord& batch : learn.find<Recorder>()->batches(learn))
    result.losses.push_back(batch.loss);
  for (const Tensor& values : {learn.params().flat_master(), learn.params().flat_buffers()}) {
    const Tensor host = to_host(gpu(), values);
    result.weights.insert(result.weights.end(), host.raw(), host.raw() + host.bytes());
  }
  return result;
}

/// The largest relative difference of the loss of a batch.
double difference(const Trained& a, const Trained& b) {
  REQUIRE(a.losses.size() == b.losses.size());
  double largest = 0;
  for (std::size_t i = 0; i < a.losses.size(); ++i)
    largest = std::max(largest,
                       std::abs(a.losses[i] - b.losses[i]) / std::max(std::abs(b.losses[i]), 1e-6));
  return largest;
}

}  // namespace

TEST_CASE("ranks train as one does without them and a captured step has the bits of eager ones") {
  constexpr double kFull = 2e-5;
  constexpr double kHalf = 2e-2;
  for (const Recipe& recipe :
       {Recipe{"mlp:width=16"}, Recipe{"mlp:width=16", true}, Recipe{"small:width=4"}}) {
    CAPTURE(recipe.model);
    CAPTURE(recipe.half);
    const Trained alone = trained(recipe, Way::alone);
    const Trained eager = trained(recipe, Way::eager);
    CHECK((eager == trained(recipe, Way::captured)));
    const double far = difference(eager, alone);
    CAPTURE(far);
    CHECK(far <= (recipe.half ? kHalf : kFull));
    // BatchNorm of ranks adds in another order, even if there is only one.
    if (world().place().ranks == 1 && recipe.model.starts_with("mlp"))
      CHECK((eager.weights == alone.weights));
  }
}

}  // namespace learn
