#include "apps/learn/data/data_findings.h"

#include "framework/io/json_text.h"
#include "framework/terminal/text_table.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace learn::cli {
namespace {

constexpr std::size_t kShown = 10;

void add(std::string& text,
         std::string_view title,
         const std::vector<Finding>& findings,
         bool all) {
  if (findings.empty()) return;
  text += fmt::format("{} {}\n", grouped(std::ssize(findings)), title);
  const std::size_t shown = all ? findings.size() : std::min(kShown, findings.size());
  for (std::size_t i = 0; i < shown; ++i)
    text += fmt::format("  {}: {}\n", findings[i].what, findings[i].why);
  if (shown < findings.size())
    text += fmt::format("  and {} more: --all lists them\n", findings.size() - shown);
}

/// The most frequent ones.
std::string sizes_text(const std::map<std::string, std::int64_t>& sizes, bool all) {
  std::vector<std::pair<std::string, std::int64_t>> sorted(sizes.begin(), sizes.end());
  std::ranges::stable_sort(sorted,
                           [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text;
  for (std::size_t i = 0; i < sorted.size() && (all || i < kShown); ++i)
    text += fmt::format(
        "{}{} {}", i == 0 ? "" : ", ", grouped(sorted[i].second), "of " + sorted[i].first);
  if (!all && sorted.size() > kShown)
    text += fmt::format(" and {} other sizes", sorted.size() - kShown);
  return text;
}

nlohmann::ordered_json list(const std::vector<Finding>& findings) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const Finding& finding : findings)
    out.push_back({{"what", finding.what}, {"why", finding.why}});
  return out;
}

}  // namespace

std::string to_text(const DataFindings& f, bool all) {
  std::string text = fmt::format("{}: {} {}", f.name, grouped(f.images), f.samples);
  if (!f.sizes.empty()) text += ", " + sizes_text(f.sizes, all);
  text += '\n';
  add(text, "damaged:", f.damaged, all);
  const std::string contents = f.samples == "images" ? "pixels" : "numbers";
  add(text, fmt::format("validation {0} that are also training {0}:", f.samples), f.in_both, all);
  add(text, fmt::format("equal {} with different labels:", contents), f.disagreeing, all);
  add(text, "skipped files that may be images:", f.lost, all);
  add(text, "skipped files (not a fault in themselves):", f.passed_over, all);
  add(text, "duplicates within their part (not a fault in themselves):", f.repeated, all);
  add(text, fmt::format("without {}:", f.samples), f.empty, all);
  add(text,
      "with similar names; if two are the same class, give them the same name:",
      f.alike,
      all);
  if (f.wrong()) return text + "faults were found\n";
  return text + (f.alike.empty() ? "no faults were found\n" : "check the names of its classes\n");
}

std::string to_json(const DataFindings& f) {
  const nlohmann::ordered_json out{{"name", f.name},
                                   {"images", f.images},
                                   {"wrong", f.wrong()},
                                   {"sizes", f.sizes},
                                   {"damaged", list(f.damaged)},
                                   {"in_both", list(f.in_both)},
                                   {"disagreeing", list(f.disagreeing)},
                                   {"lost", list(f.lost)},
                                   {"passed_over", list(f.passed_over)},
                                   {"repeated", list(f.repeated)},
                                   {"empty", list(f.empty)},
                                   {"alike", list(f.alike)}};
  return json_text(out, 2) + "\n";
}

}  // namespace learn::cli
