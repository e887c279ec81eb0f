#include "framework/core/options/suggest.h"

#include "framework/core/error.h"

#include <algorithm>

namespace learn {

namespace {

/// The name without differences in case and between - and _.
std::string plain(std::string_view word) {
  std::string out(word);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (c == '_') c = '-';
  }
  return out;
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last, last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replace});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    before_last = last;
    std::swap(last, row);
  }
  return last[b.size()];
}

std::string nearest(std::string_view given, const std::vector<std::string>& known) {
  constexpr std::size_t kFarthest = 2;
  constexpr std::size_t kShortestBeginning = 3;
  const std::string word = plain(given);
  std::string best, begun;
  std::size_t best_distance = kFarthest + 1, beginnings = 0;
  for (const std::string& name : known) {
    if (name == given) continue;
    const std::string plain_name = plain(name);
    const std::size_t distance = edit_distance(word, plain_name);
    // Returns the one of two names with the more similar spelling.
    const bool nearer =
        distance < best_distance || (distance == best_distance && !best.empty() &&
                                     edit_distance(given, name) < edit_distance(given, best));
    // Two edits make any three-letter word of any other.
    if (nearer && distance * 2 < std::max(name.size(), given.size())) {
      best = name;
      best_distance = distance;
    }
    if (!plain_name.starts_with(word)) continue;
    begun = name;
    ++beginnings;
  }
  if (best_distance > 1 && beginnings == 1 && given.size() >= kShortestBeginning) return begun;
  return best;
}

std::string did_you_mean(std::string_view given, const std::vector<std::string>& known) {
  const std::string name = nearest(given, known);
  return name.empty() ? "" : fmt::format("; did you mean '{}'?", name);
}

void require_known(std::string_view kind,
                   std::string_view given,
                   const std::vector<std::string>& known) {
  if (std::find(known.begin(), known.end(), given) != known.end()) return;
  fail<UsageError>(
      "unknown {} '{}'{} (known: {})", kind, given, did_you_mean(given, known), join(known));
}

}  // namespace learn
