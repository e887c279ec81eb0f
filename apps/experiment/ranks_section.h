#pragma once
#include "framework/core/options/option_table.h"
#include "framework/learner/exchange.h"

#include <chrono>
#include <cstdint>

namespace learn {

/// An experiment that several processes, the ranks, train together. Without other ranks nothing
/// here has an effect.
struct RanksSection {
  bool sync_bn = false;
  double bucket = 4;  ///< megabytes
  Wire wire = Wire::f32;
  std::int64_t rank_timeout = 300;  ///< seconds; 0: for ever
  bool rank_logs = false;

  void declare(OptionTable& table);
  [[nodiscard]] std::chrono::milliseconds deadline() const {
    return std::chrono::seconds(rank_timeout);
  }
};

}  // namespace learn
