#pragma once
#include <cstdint>
#include <string_view>

namespace learn {

/// What a sample is to be told by, and so what the outputs of a model mean: logits whose softmax,
/// or whose sigmoid each, is a probability, or the numbers themselves.
enum class TargetKind : std::uint8_t {
  classes,  ///< one class of several
  labels,   ///< each of several labels, or not: any number of them at a time
  values,   ///< real numbers
};

/// As messages say it.
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
