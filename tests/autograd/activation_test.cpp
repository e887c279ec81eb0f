#include "framework/autograd/ops.h"
#include "tests/support/gradcheck.h"

#include <doctest/doctest.h>

#include <vector>

using namespace learn;

namespace {

test::OpCase activation_case(const ActivationKind& kind, const Shape& shape) {
  return {.name = name_of(kind),
          .inputs = {{.name = "x", .shape = shape, .low = -4, .high = 4, .kinks = {0}}},
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
