#pragma once
#include <cstdint>
#include <string_view>

namespace learn {

/// Kind of the targets, and therefore the meaning of a model's outputs: logits with probabilities
/// by softmax or by one sigmoid each, or the numbers themselves.
enum class TargetKind : std::uint8_t {
  classes,  ///< one class of several
  labels,   ///< each of several labels, or not: any number of them at a time
  values,   ///< real numbers
};

/// Text for messages.
[[nodiscard]] constexpr std::string_view to_text(TargetKind kind) noexcept {
  switch (kind) {
    case TargetKind::labels:
      return "several labels per sample";
    case TargetKind::values:
      return "real numbers";
    case TargetKind::classes:
      break;
  }
  return "classes";
}

}  // namespace learn
