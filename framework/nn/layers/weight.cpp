#include "framework/nn/layers/weight.h"

#include "framework/autograd/ops.h"
#include "framework/autograd/tape.h"
#include "framework/core/fnv1a.h"
#include "framework/tensor/factory.h"

#include <cmath>
#include <span>
#include <string>

namespace learn::nn {
namespace {

/// `init` as it fills the parameter `name`, whatever the name of the one that it is given.
Init as_filled(const std::string& name, const Init& init) {
  return [init, stream = fnv1a_48(name)](Tensor& values, std::uint64_t seed, std::uint64_t) {
    init(values, seed, stream);
  };
}

/// Lengths of the rows of a parameter `name` of that shape, initialized by `init`.
Init lengths_of(const std::string& name, const Shape& shape, const Init& init) {
  return [name, shape, init](Tensor& values, std::uint64_t seed, std::uint64_t stream) {
    Arena host("weight norm", cpu_pages());
    Tensor weight = full(host, shape, DType::f32, 0);
    init(weight, seed, stream);
    const std::span<const float> all = weight.span<float>();
    const std::span<float> lengths = values.span<float>();
    const std::size_t columns = all.size() / lengths.size();
    for (std::size_t row = 0; row < lengths.size(); ++row) {
      double squares = 0;
      for (const float x : all.subspan(row * columns, columns))
        squares += static_cast<double>(x) * static_cast<double>(x);
      check<UsageError>(squares > 0,
                        "weight norm of '{}': the initial values of output {} are all zero and "
                        "have no direction; use another init for the layer",
                        name,
                        row);
      lengths[row] = static_cast<float>(std::sqrt(squares));
    }
  };
}

}  // namespace

Weight::Weight(const Scope& scope, const Shape& shape, const Init& init, bool weight_norm) {
  if (!weight_norm) {
    v_ = scope.param("weight", shape, ParamRole::weight, init);
    return;
  }
  const std::string plain = (scope / "weight").path();
  const Init values = as_filled(plain, init);
  Shape lengths{shape[0]};
  while (lengths.rank() < shape.rank()) lengths.push_back(1);
  g_ = scope.param("weight_g", lengths, ParamRole::weight_length, lengths_of(plain, shape, values));
  v_ = scope.param("weight_v", shape, ParamRole::weight, values);
}

Var Weight::on(Tape& tape) const {
  return g_ == nullptr ? tape.param(*v_) : ops::weight_norm(tape.param(*v_), tape.param(*g_));
}

}  // namespace learn::nn
