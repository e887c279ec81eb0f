#include "data/names/names.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <set>
#include <tuple>

namespace learn::data {
namespace {

using namespace std::string_view_literals;

Part part_of_word(std::string_view word) {
  constexpr std::array kWords{std::pair{"train"sv, Part::train},
                              std::pair{"training"sv, Part::train},
                              std::pair{"valid"sv, Part::valid},
                              std::pair{"val"sv, Part::valid},
                              std::pair{"validation"sv, Part::valid},
                              std::pair{"dev"sv, Part::valid},
                              std::pair{"eval"sv, Part::valid},
                              std::pair{"evaluation"sv, Part::valid},
                              std::pair{"test"sv, Part::test},
                              std::pair{"testing"sv, Part::test}};
  const auto* const found =
      std::ranges::find(kWords, word, [](const auto& entry) { return entry.first; });
  return found == kWords.end() ? Part::unsaid : found->second;
}

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }
bool is_capital(char c) { return std::isupper(static_cast<unsigned char>(c)) != 0; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Returns the words of a name: "seg" and "train" for "segTrain_2017".
std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> words;
  char before = ' ';
  for (const char c : name) {
    const bool begins = !is_letter(before) || (is_capital(c) && !is_capital(before));
    if (is_letter(c) && begins) words.emplace_back();
    if (is_letter(c)) words.back() += c;
    before = c;
  }
  std::ranges::transform(words, words.begin(), in_small_letters);
  return words;
}

/// A decimal number of any length, for comparison.
struct Number {
  bool negative = false;
  std::string_view whole;     ///< without leading zeros
  std::string_view fraction;  ///< without trailing zeros
};

std::optional<Number> number_of(std::string_view text) {
  Number number;
  number.negative = text.starts_with('-');
  if (number.negative) text.remove_prefix(1);
  const std::size_t point = std::min(text.find('.'), text.size());
  number.whole = text.substr(0, point);
  if (point < text.size()) number.fraction = text.substr(point + 1);
  const bool digits =
      std::ranges::all_of(number.whole, is_digit) && std::ranges::all_of(number.fraction, is_digit);
  if (!digits || number.whole.empty() || (point < text.size() && number.fraction.empty()))
    return std::nullopt;
  number.whole.remove_prefix(std::min(number.whole.find_first_not_of('0'), number.whole.size()));
  number.fraction = number.fraction.substr(0, number.fraction.find_last_not_of('0') + 1);
  if (number.whole.empty() && number.fraction.empty()) number.negative = false;
  return number;
}

bool is_less(const Number& a, const Number& b) {
  if (a.negative != b.negative) return a.negative;
  const auto size = [](const Number& n) { return std::tuple(n.whole.size(), n.whole, n.fraction); };
  return a.negative ? size(b) < size(a) : size(a) < size(b);
}

}  // namespace

std::string in_small_letters(std::string text) {
  std::ranges::transform(
      text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

Part part_named(std::string_view name) {
  std::string word = in_small_letters(std::string(name));
  std::erase_if(word, [](char c) { return " _-."sv.find(c) != std::string_view::npos; });
  for (const std::string_view ending : {"dataset"sv, "set"sv, "data"sv, "images"sv, "split"sv})
    if (word.ends_with(ending)) {
      word.resize(word.size() - ending.size());
      break;
    }
  return part_of_word(word);
}

bool look_like_parts(const std::vector<std::string>& names) {
  std::set<Part> parts;
  for (const std::string& name : names) {
    Part part = Part::unsaid;
    for (std::string word : words_of(name)) {
      if (part_of_word(word) == Part::unsaid && word.ends_with('s')) word.pop_back();
      if (part == Part::unsaid) part = part_of_word(word);
    }
    if (part == Part::unsaid) return false;
    parts.insert(part);
  }
  return parts.size() > 1;
}

bool is_system_name(std::string_view name) {
  constexpr std::array kNames{"__macosx"sv,
                              "__pycache__"sv,
                              "lost+found"sv,
                              "temporary items"sv,
                              "network trash folder"sv,
                              "thevolumesettingsfolder"sv,
                              "icon\r"sv,
                              "thumbs.db"sv,
                              "thumbs.db:encryptable"sv,
                              "ehthumbs.db"sv,
                              "ehthumbs_vista.db"sv,
                              "desktop.ini"sv,
                              "picasa.ini"sv,
                              "zbthumbnail.info"sv,
                              "$recycle.bin"sv,
                              "recycler"sv,
                              "system volume information"sv,
                              "@eadir"sv,
                              "@tmp"sv,
                              "@recycle"sv,
                              "@recently-snapshot"sv,
                              "@__thumb"sv,
                              "#recycle"sv,
                              "#snapshot"sv};
  const auto is_name = [&](std::string_view known) {
    return known.size() == name.size() && known == in_small_letters(std::string(name));
  };
  return name.starts_with('.') || std::ranges::any_of(kNames, is_name);
}

void sort_class_names(std::vector<std::string>& names) {
  std::ranges::sort(names);
  if (std::ranges::all_of(names,
                          [](const std::string& name) { return number_of(name).has_value(); }))
    std::ranges::stable_sort(names, [](const std::string& a, const std::string& b) {
      return is_less(*number_of(a), *number_of(b));
    });
}

}  // namespace learn::data
