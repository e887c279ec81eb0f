#include "framework/autograd/ops.h"
#include "framework/autograd/tape.h"
#include "framework/nn/loss.h"
#include "framework/tensor/factory.h"
#include "models/registry.h"

#include <doctest/doctest.h>

#include <cstddef>
#include <string>
#include <vector>

using namespace learn;

namespace {

using Bytes = std::vector<std::byte>;

Bytes bytes_of(const Tensor& tensor) { return {tensor.raw(), tensor.raw() + tensor.bytes()}; }

/// The loss of a step, and the gradients of all parameters.
std::vector<Bytes> step(const std::string& name, DType dtype, std::int64_t images, int threads) {
  Context ctx({.device = Device::cpu(), .threads = threads, .seed = 3});
  nn::Model model = models::make_model(name, {.classes = 10});
  nn::ParamStore& store = *model.params;
  store.materialize(ctx);
  store.set_working_dtype(dtype);
  store.begin_gradients();
  Tape tape(ctx);
  Tensor classes(ctx.step(), {images}, DType::i64);
  for (std::int64_t i = 0; i < images; ++i) set(classes, i, static_cast<double>(i % 10));
  const Tensor x = uniform(ctx.step(), {images, 32, 32, 3}, DType::f32, -2, 2, 5);
  const Var pred = (*model.module)(ops::cast(tape.input(x), dtype));
  const Var loss = nn::cross_entropy().fn(ops::cast(pred, DType::f32), classes);
  tape.backward(loss);
  std::vector<Bytes> results{bytes_of(loss.value())};
  for (std::int64_t p = 0; p < store.size(); ++p) results.push_back(bytes_of(store.slot(p).grad));
  return results;
}

}  // namespace

TEST_CASE("a training step has the same bits with 1 and 16 and 64 threads") {
  // Layers of all sizes, and batches that divide their work into few and into many tasks.
  for (const char* name : {"darknet", "resnet18"})
    for (const DType dtype : {DType::f32, DType::bf16})
      for (const std::int64_t images : {2, 20}) {
        const std::vector<Bytes> expected = step(name, dtype, images, 1);
        for (const int threads : {16, 64}) {
          CAPTURE(name);
          CAPTURE(dtype);
          CAPTURE(images);
          CAPTURE(threads);
          const std::vector<Bytes> got = step(name, dtype, images, threads);
          REQUIRE(got.size() == expected.size());
          for (std::size_t i = 0; i < got.size(); ++i) CHECK((got[i] == expected[i]));
        }
      }
}
