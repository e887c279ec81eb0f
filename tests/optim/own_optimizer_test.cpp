#include "apps/examples/lion.h"
#include "framework/kernels/step/step.h"
#include "framework/optim/gradients.h"
#include "tests/support/on_device.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

using namespace learn;

namespace {

constexpr std::int64_t kWeights = 40;
constexpr std::int64_t kBiases = 3;

/// Exact in every dtype; never so that an update is a sum that cancels.
double gradient(std::int64_t i, int step) {
  return static_cast<double>((7 * i + 3 * step) % 13 - 6) / 8;
}

/// Lion as the paper has it, in double.
struct Expected {
  std::vector<double> w, m;
  void step(int number, double lr, double decay, bool decoupled) {
    for (std::size_t i = 0; i < w.size(); ++i) {
      const double g =
          gradient(static_cast<std::int64_t>(i), number) + (decoupled ? 0 : decay * w[i]);
      const double c = 0.9 * m[i] + 0.1 * g;
      const double direction = c > 0 ? 1 : c < 0 ? -1 : 0;
      w[i] -= lr * (direction + (decoupled ? decay * w[i] : 0));
      m[i] = 0.99 * m[i] + 0.01 * g;
    }
  }
};

void declare(nn::ParamStore& store) {
  const nn::Init values = [](Tensor& t, std::uint64_t, std::uint64_t) {
    for (std::int64_t i = 0; i < t.elements(); ++i) set(t, i, 0.25 + static_cast<double>(i) / 64);
  };
  store.declare("w", {kWeights}, nn::ParamRole::weight, values);
  store.declare("b", {kBiases}, nn::ParamRole::bias, values);
}

void write_gradients(Context& ctx, nn::ParamStore& store, int step, double scale) {
  for (std::int64_t p = 0; p < store.size(); ++p) {
    ParamSlot& slot = store.slot(p);
    std::vector<double> values;
    for (std::int64_t i = 0; i < slot.grad.elements(); ++i)
      values.push_back(scale * gradient(i, step));
    copy(ctx, test::put_values(ctx, slot.grad.shape(), values, slot.grad.dtype()), slot.grad);
  }
}

}  // namespace

TEST_CASE(
    "an optimizer from operations of the device: Lion, with masters and without half copies") {
  for (const DType working : {DType::f32, DType::f16, DType::bf16})
    for (const auto decay : {optim::WeightDecay::decoupled, optim::WeightDecay::coupled}) {
      CAPTURE(working);
      Context ctx(test::fast_context(2));
      nn::ParamStore store;
      declare(store);
      store.materialize(ctx);
      store.set_working_dtype(working);
      const auto lion =
          examples::lion({.lr = 0.03125F, .weight_decay = 0.125F, .decay = decay})(store);
      auto& control = lion->control();
      kernels::set_loss_scale(ctx, 4, control);
      lion->set_loss_scaling({.dynamic = false});

      const bool decoupled = decay == optim::WeightDecay::decoupled;
      Expected weights, biases;
      for (std::int64_t i = 0; i < kWeights; ++i)
        weights.w.push_back(0.25 + static_cast<double>(i) / 64);
      biases.w.assign(weights.w.begin(), weights.w.begin() + kBiases);
      weights.m.assign(kWeights, 0);
      biases.m.assign(kBiases, 0);
      for (int step = 0; step < 4; ++step) {
        kernels::begin_step(ctx, control);
        const bool overflow = step == 2;
        write_gradients(ctx, store, step, overflow ? std::numeric_limits<double>::infinity() : 4.0);
        optim::unscale_half_gradients(store, control, GradMode::overwrite);
        optim::unscale_full_gradients(store, control);
        lion->step();
        if (overflow) continue;  // nothing changes, not even by a NaN
        weights.step(step, 0.03125, 0.125, decoupled);
        biases.step(step, 0.03125, 0, decoupled);  // biases are not decayed
      }
      CHECK(lion->read_control().step == 3);
      for (const Expected* expected : {&weights, &biases}) {
        const std::int64_t p = store.find(expected == &weights ? "w" : "b");
        const Tensor master = to_host(ctx, store.master(p));
        const Tensor used = to_host(ctx, store.slot(p).value);
        const Tensor rounded =
            from_values(test::host_values(), master.shape(), expected->w, working);
        CHECK(used.dtype() == working);
        for (std::int64_t i = 0; i < master.elements(); ++i) {
          CHECK(get(master, i) ==
                doctest::Approx(expected->w[static_cast<std::size_t>(i)]).epsilon(1e-6));
          CHECK(get(used, i) == doctest::Approx(get(rounded, i)).epsilon(0.01));
        }
      }
    }
}
