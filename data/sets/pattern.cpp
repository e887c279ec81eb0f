#include "data/sets/pattern.h"

#include "framework/core/error.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <array>

namespace learn::data {
namespace {

std::string text_of(int error) {
  std::array<PCRE2_UCHAR, 256> text{};
  (void)pcre2_get_error_message(error, text.data(), text.size());
  return reinterpret_cast<const char*>(text.data());
}

PCRE2_SPTR units(const std::string& text) { return reinterpret_cast<PCRE2_SPTR>(text.data()); }

}  // namespace

Pattern::Pattern(const std::string& text) : text_(text) {
  int error = 0;
  PCRE2_SIZE at = 0;
  // File names are UTF-8, or any bytes; \w matches letters of any script, as in Python.
  constexpr std::uint32_t kOptions =
      PCRE2_UTF | PCRE2_UCP | PCRE2_MATCH_INVALID_UTF | PCRE2_NEVER_BACKSLASH_C;
  pcre2_code* const code = pcre2_compile(units(text), text.size(), kOptions, &error, &at, nullptr);
  if (code == nullptr)
    fail<UsageError>("the regular expression '{}' is wrong at '{}': {}",
                     text,
                     text.substr(0, at),
                     text_of(error));
  code_ = std::shared_ptr<const void>(
      code, [](const void* p) { pcre2_code_free(static_cast<pcre2_code*>(const_cast<void*>(p))); });
}

std::optional<std::string> Pattern::find(const std::string& in) const {
  constexpr std::uint32_t kTries = 1'000'000;  // about 10 ms
  const std::unique_ptr<pcre2_match_context, decltype(&pcre2_match_context_free)> limits(
      pcre2_match_context_create(nullptr), &pcre2_match_context_free);
  pcre2_set_match_limit(limits.get(), kTries);
  const auto* const code = static_cast<const pcre2_code*>(code_.get());
  const std::unique_ptr<pcre2_match_data, decltype(&pcre2_match_data_free)> found(
      pcre2_match_data_create_from_pattern(code, nullptr), &pcre2_match_data_free);
  const int groups = pcre2_match(code, units(in), in.size(), 0, 0, found.get(), limits.get());
  if (groups == PCRE2_ERROR_NOMATCH) return std::nullopt;
  if (groups < 0)
    fail<DataError>(
        "the regular expression '{}' cannot be matched with '{}': {}", text_, in, text_of(groups));
  const PCRE2_SIZE* const ends = pcre2_get_ovector_pointer(found.get());
  const std::size_t group = pcre2_get_ovector_count(found.get()) > 1 ? 1 : 0;
  // The group is in an alternative that did not match.
  if (ends[2 * group] == PCRE2_UNSET) return std::string();
  return in.substr(ends[2 * group], ends[2 * group + 1] - ends[2 * group]);
}

std::string Pattern::label_of(const std::string& path, const std::string& where) const {
  const std::optional<std::string> label = find(path);
  if (!label || label->empty())
    fail<DataError>("{}: '{}' {} the regular expression '{}', so it has no label",
                    where,
                    path,
                    label ? "has an empty match of" : "does not match",
                    text_);
  return *label;
}

}  // namespace learn::data
