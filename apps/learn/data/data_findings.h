#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace learn::cli {

/// Something about an image or a class.
struct Finding {
  std::string what;
  std::string why;
};

/// Findings of `learn data verify`.
struct DataFindings {
  std::string name;
  std::string samples = "images";  ///< or "rows"
  std::int64_t images = 0;
  std::vector<Finding> damaged;
  std::vector<Finding> in_both;      ///< validation images that are training images, too
  std::vector<Finding> disagreeing;  ///< images of equal pixels and different targets
  std::vector<Finding> lost;         ///< skipped files that may be images
  // Findings that are not faults in themselves.
  std::vector<Finding> passed_over;  ///< other files
  std::vector<Finding> repeated;     ///< images that are in their part before
  std::vector<Finding> empty;        ///< classes without images in a part
  std::vector<Finding> alike;        ///< classes whose names look like another's
  std::map<std::string, std::int64_t> sizes;

  /// Whether it is something that spoils a training.
  [[nodiscard]] bool wrong() const {
    return !damaged.empty() || !in_both.empty() || !disagreeing.empty() || !lost.empty();
  }
};

/// For people: of each kind the first ten, or all.
[[nodiscard]] std::string to_text(const DataFindings& findings, bool all);
/// All of it.
[[nodiscard]] std::string to_json(const DataFindings& findings);

}  // namespace learn::cli
