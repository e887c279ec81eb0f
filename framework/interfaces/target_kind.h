#pragma once
#include <cstdint>

namespace learn {

/// What a sample is to be told by.
enum class TargetKind : std::uint8_t {
  classes,  ///< one class of several
  labels,   ///< each of several labels, or not: any number of them at a time
  values,   ///< real numbers
};

}  // namespace learn
