#pragma once
#include "framework/core/random.h"
#include "framework/nn/param_store.h"
#include "framework/tensor/factory.h"

#include <cmath>
#include <map>
#include <numeric>
#include <string>
#include <vector>

/// A store to be taken apart by tests.
namespace store_net {

using namespace learn;
using nn::ParamRole;
using nn::ParamStore;
using nn::Segment;

/// Uniform in [0.25, 1.25): never zero, so that a value in a gap cannot hide.
inline void random_init(Tensor& values, std::uint64_t seed, std::uint64_t stream) {
  for (std::int64_t i = 0; i < values.elements(); ++i)
    set(values,
        i,
        0.25 +
            static_cast<double>(uniform01(
                random4(seed, RandomPurpose::init, stream, static_cast<std::uint64_t>(i)).v[0])));
}

/// conv (weight, bn), conv2 (weight, bias), a module without parameters, fc (weight, bias); odd
/// sizes, so that every parameter leaves a gap.
inline void declare_net(ParamStore& store) {
  store.mark_module("");
  store.mark_module("conv");
  store.declare("conv.weight", {3, 3, 3, 1}, ParamRole::weight, random_init);
  store.mark_module("conv.bn");
  store.declare("conv.bn.weight", {3}, ParamRole::norm_weight, random_init);
  store.declare("conv.bn.bias", {3}, ParamRole::norm_bias, random_init);
  store.declare_buffer("conv.bn.running_mean", {3}, 0);
  store.declare_buffer("conv.bn.running_var", {3}, 1);
  store.mark_module("conv2");
  store.declare("conv2.weight", {5, 3}, ParamRole::weight, random_init);
  store.declare("conv2.bias", {5}, ParamRole::bias, random_init);
  store.mark_module("pool");
  store.mark_module("fc");
  store.declare("fc.weight", {2, 5}, ParamRole::weight, random_init);
  store.declare("fc.bias", {2}, ParamRole::bias, random_init);
}

/// Every value of every parameter, by name.
inline std::map<std::string, std::vector<double>> values_by_name(ParamStore& store,
                                                                 const Tensor& flat) {
  std::map<std::string, std::vector<double>> found;
  for (std::int64_t i = 0; i < store.size(); ++i)
    for (std::int64_t k = 0; k < store.info(i).shape.elements(); ++k)
      found[store.info(i).name].push_back(get(flat, store.offset(i) + k));
  return found;
}

/// The sum of what lies outside of all parameters.
inline double gap_content(ParamStore& store, const Tensor& flat) {
  std::vector<bool> used(static_cast<std::size_t>(store.flat_size()));
  for (std::int64_t i = 0; i < store.size(); ++i)
    for (std::int64_t k = 0; k < store.info(i).shape.elements(); ++k)
      used[static_cast<std::size_t>(store.offset(i) + k)] = true;
  double sum = 0;
  for (std::int64_t k = 0; k < store.flat_size(); ++k)
    if (!used[static_cast<std::size_t>(k)]) sum += std::abs(get(flat, k));
  return sum;
}

inline std::int64_t total(const std::vector<Segment>& segments) {
  return std::accumulate(segments.begin(), segments.end(), std::int64_t{0}, [](auto sum, auto s) {
    return sum + s.count;
  });
}

/// A poisoned arena: what a store forgets to write is NaN.
inline ContextOptions poisoned() {
  return {.threads = 1, .arena = {.guard = true, .poison = true}};
}

}  // namespace store_net
