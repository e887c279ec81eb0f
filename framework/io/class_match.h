#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace learn {

/// `Metadata` key of the names of a model's classes (labels, values), by line, in the order of its
/// outputs.
inline constexpr std::string_view kClassesKey = "learn.classes";

/// How the outputs of a model relate to those of the model that a file's weights are of.
struct ClassMatch {
  /// Names of the file's outputs, in its order; empty if it has none.
  std::vector<std::string> theirs;
  /// Names of the model's outputs. Empty: weights are taken in the file's order, unchecked.
  std::vector<std::string> ours;
  std::vector<std::string> found{};  ///< those of `ours` that the file has
  std::vector<std::string> added{};  ///< those that it does not have; their rows keep their values
  std::vector<std::string> left{};   ///< those of `theirs` that the model does not have
  /// Whether rows of the last layer were taken from the file. If not, nothing above matters.
  bool rows_taken = false;

  ClassMatch() = default;
  /// Compares names. Texts without a name in common are matched like any others: no row is taken.
  ClassMatch(std::vector<std::string> theirs, std::vector<std::string> ours);
  /// Whether both sides have names.
  [[nodiscard]] bool by_name() const { return !theirs.empty() && !ours.empty(); }
  /// Whether the names are not the same ones in the same order.
  [[nodiscard]] bool differs() const { return by_name() && theirs != ours; }
  /// The file's row for a row of the model, or -1.
  [[nodiscard]] std::int64_t row_for(std::int64_t row) const;
  /// "2 of 3 classes found by name: cat, dog; 1 new: fish; 1 of the file not used: ship".
  [[nodiscard]] std::string describe() const;
};

}  // namespace learn
