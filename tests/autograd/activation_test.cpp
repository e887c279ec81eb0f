#include "framework/autograd/ops.h"
#include "tests/support/gradcheck.h"
#include "tests/support/on_device.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <vector>

using namespace learn;

namespace {

test::OpCase activation_case(const ActivationKind& kind, const Shape& shape) {
  return {.name = name_of(kind),
          .inputs = {{.name = "x", .shape = shape, .low = -4, .high = 8, .kinks = {-3, 0, 3, 6}}},
          .call = [kind](Tape&, std::span<const Var> in) { return ops::activation(in[0], kind); }};
}

}  // namespace

TEST_CASE("activations: gradients, parity, determinism") {
  std::vector<ActivationKind> kinds{ActivationKind::leaky_relu(0.1F)};
  for (const NamedActivation& one : kActivations) kinds.push_back(one.kind);
  for (const ActivationKind& kind : kinds) {
    if (kind.name == ActivationKind::Name::identity) continue;  // no operation
    test::test_op(activation_case(kind, {3, 5, 7}));
    // Several chunks of work and a tail that fills no vector.
    test::test_large_op(activation_case(kind, {5, 8191}));
  }
}

TEST_CASE("gelu is 0 and its operand far from 0") {
  constexpr double kInf = INFINITY;
  const std::vector<double> x{-1e30, -1000, -40, -20, -14, 14, 20, 40, 1000, 1e30, kInf};
  Context ctx(test::fast_context(1));
  Tape tape(ctx);
  const Var v = tape.input(test::put_values(ctx, {std::ssize(x)}, x), true);
  const Var y = ops::gelu(v);
  tape.backward(ops::sum(y));
  for (std::int64_t i = 0; i < std::ssize(x); ++i) {
    const double at = x[static_cast<std::size_t>(i)];
    CAPTURE(at);
    const double value = test::fetch(ctx, y.value(), i);
    const double slope = test::fetch(ctx, tape.grad_of(v), i);
    CHECK((at > 0 ? value == static_cast<float>(at) : std::fabs(value) < 1e-30));
    if (std::isfinite(at)) CHECK((at > 0 ? slope == 1 : std::fabs(slope) < 1e-30));
  }
  const Var none = tape.input(test::put_values(ctx, {1}, {NAN}));
  CHECK(std::isnan(test::fetch(ctx, ops::gelu(none).value(), 0)));
}
