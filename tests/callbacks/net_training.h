#pragma once
#include "framework/optim/sgd.h"
#include "framework/tensor/factory.h"
#include "tests/callbacks/layered_net.h"
#include "tests/support/compare.h"
#include "tests/support/worse.h"

#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

/// A training of a small net of real layers, for the callbacks of mixed precision.
namespace tiny {

inline LearnerOptions with_momentum() {
  LearnerOptions options;
  options.optimizer = optim::sgd({.momentum = 0.9F, .weight_decay = 0.01F});
  return options;
}

/// All that a skipped step must leave alone.
struct Snapshot {
  explicit Snapshot(Learner& l)
      : masters(values(l.params().flat_master())), buffers(values(l.params().flat_buffers())) {
    for (auto& [name, state] : l.params().states()) states[name] = values(state.values);
    if (l.params().flat_half().defined()) half = values(l.params().flat_half());
  }
  bool operator==(const Snapshot&) const = default;
  std::vector<double> masters, buffers, half;
  std::map<std::string, std::vector<double>> states;
};

/// Every half parameter is its rounded master, and every f32 one is its master itself.
inline void check_one_source_of_truth(Learner& l) {
  nn::ParamStore& params = l.params();
  for (std::int64_t i = 0; i < params.size(); ++i) {
    CAPTURE(params.info(i).name);
    const Tensor master = params.master(i);
    const Tensor& value = params.slot(i).value;
    if (!is_half(value.dtype())) {
      CHECK(value.same_memory(master));
      continue;
    }
    Tensor rounded = full(l.context().step(), master.shape(), value.dtype(), 0);
    for (std::int64_t k = 0; k < master.elements(); ++k) set(rounded, k, get(master, k));
    CHECK(same_bits(value, rounded).equal);
  }
}

/// A training with momentum and decay, of three modules to freeze and to split.
struct NetTraining : LayeredTraining {
  explicit NetTraining(std::vector<std::int64_t> sizes = {4, 4, 4})
      : LayeredTraining(std::move(sizes), with_momentum()) {}
};

inline double distance(const std::vector<double>& a, const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) worst = test::worse(worst, std::abs(a[i] - b[i]));
  return worst;
}

}  // namespace tiny
