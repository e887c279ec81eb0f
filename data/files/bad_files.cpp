#include "data/files/bad_files.h"

#include "framework/core/error.h"
#include "framework/core/log.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace learn::data {
namespace {

constexpr std::size_t kListed = 10;  // paths that an error text shows

std::string list(const std::vector<SkippedFile>& bad, std::size_t most) {
  std::string text;
  for (std::size_t i = 0; i < std::min(most, bad.size()); ++i)
    text += fmt::format("\n  {}: {}", bad[i].file, bad[i].why);
  if (bad.size() > most) text += fmt::format("\n  and {} more", bad.size() - most);
  return text;
}

}  // namespace

void skip_bad_files(const std::vector<SkippedFile>& bad,
                    std::size_t files,
                    const std::string& where,
                    double max_bad,
                    std::vector<SkippedFile>* skipped) {
  if (bad.empty()) return;
  const double share = static_cast<double>(bad.size()) / static_cast<double>(files);
  if (share > max_bad) {
    // `max_bad` is below 1.
    const double needed = std::ceil(share * 1e4) / 1e4;
    const std::string skip =
        needed < 1 ? fmt::format(
                         "with ':max_bad=SHARE' after the path, a share of {:.4f} or more, "
                         "or all of them with ':skip_bad=true'",
                         needed)
                   : "with ':skip_bad=true' after the path";
    fail<DataError>("{} of {} files in '{}' cannot be decoded: repair or remove them{}:{}",
                    bad.size(),
                    files,
                    where,
                    bad.size() == files ? "" : ", or skip them " + skip,
                    list(bad, kListed));
  }
  log::warn("[data] skipped {} of {} files in '{}' that cannot be decoded:{}",
            bad.size(),
            files,
            where,
            list(bad, bad.size()));
  if (skipped != nullptr) skipped->insert(skipped->end(), bad.begin(), bad.end());
  if (bad.size() == files)
    fail<DataError>("none of the {} files in '{}' can be decoded", files, where);
}

void check_classes_left(const std::vector<std::int64_t>& before,
                        const Dataset& left,
                        const std::string& where) {
  const std::vector<std::int64_t> after = class_counts(left);
  for (std::size_t c = 0; c < before.size(); ++c)
    if (before[c] > 0 && after[c] == 0)
      fail<DataError>("no file of class '{}' in '{}' can be decoded", left.classes[c], where);
}

}  // namespace learn::data
