#include "tests/optim/small_net.h"

#include "framework/core/random.h"
#include "framework/runtime/transfer.h"
#include "framework/tensor/factory.h"

#include <string>

namespace learn::test {

void declare_small_net(nn::ParamStore& store, bool large) {
  const nn::Init init = [](Tensor& values, std::uint64_t seed, std::uint64_t stream) {
    for (std::int64_t i = 0; i < values.elements(); ++i) {
      const auto word =
          random4(seed, RandomPurpose::init, stream, static_cast<std::uint64_t>(i)).v[0];
      set(values, i, static_cast<double>(uniform01(word)) - 0.5);
    }
  };
  const std::int64_t wide = large ? 7001 : 11;
  for (const char* name : {"a", "b", "c"}) {
    store.mark_module(name);
    const std::string prefix = std::string(name) + ".";
    store.declare(prefix + "weight", {wide, 3}, nn::ParamRole::weight, init);
    store.declare(prefix + "bias", {3}, nn::ParamRole::bias, init);
    store.mark_module(prefix + "bn");
    store.declare(prefix + "bn.weight", {19}, nn::ParamRole::norm_weight, init);
    store.declare(prefix + "bn.bias", {19}, nn::ParamRole::norm_bias, init);
    store.declare_buffer(prefix + "bn.running_mean", {19}, 0);
  }
  store.mark_module("d");
  store.declare("d.weight", {5, 7}, nn::ParamRole::weight, init);
}

void random_gradients(nn::ParamStore& store, std::int64_t step, double scale) {
  for (std::int64_t i = 0; i < store.size(); ++i) {
    Tensor grad = store.slot(i).grad;
    for (std::int64_t k = 0; k < grad.elements(); ++k) {
      const auto word = random4(77,
                                RandomPurpose::test,
                                static_cast<std::uint64_t>(1000 * step + i),
                                static_cast<std::uint64_t>(k))
                            .v[0];
      set(grad, k, scale * (static_cast<double>(uniform01(word)) - 0.5));
    }
  }
}

Tensor snapshot(nn::ParamStore& store, const Tensor& flat) {
  return to_host(store.context(), flat);
}

}  // namespace learn::test
