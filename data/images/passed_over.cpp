#include "data/images/passed_over.h"

#include "data/images/image_codec.h"
#include "data/names/names.h"
#include "framework/core/log.h"
#include "framework/core/printable.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace learn::data {
namespace {

using namespace std::string_view_literals;

/// Returns whether it is the extension of an unsupported image, or of an archive, which may hold
/// images.
bool may_hold_images(std::string_view extension) {
  constexpr std::array kExtensions{
      ".heic"sv, ".heif"sv, ".avif"sv, ".jxl"sv, ".jp2"sv, ".j2k"sv, ".jpx"sv, ".apng"sv, ".svg"sv,
      ".ico"sv,  ".tga"sv,  ".psd"sv,  ".exr"sv, ".hdr"sv, ".dcm"sv, ".raw"sv, ".dng"sv,  ".cr2"sv,
      ".cr3"sv,  ".nef"sv,  ".arw"sv,  ".orf"sv, ".rw2"sv, ".raf"sv, ".zip"sv, ".tar"sv,  ".gz"sv,
      ".tgz"sv,  ".bz2"sv,  ".xz"sv,   ".zst"sv, ".7z"sv,  ".rar"sv};
  return std::ranges::find(kExtensions, extension) != kExtensions.end();
}

}  // namespace

std::optional<PassedOver> why_passed_over(const std::string& path,
                                          FunctionRef<std::string()> name,
                                          FunctionRef<std::vector<std::uint8_t>()> start) {
  if (has_image_name(path)) return std::nullopt;
  const std::string extension = in_small_letters(std::filesystem::path(path).extension().string());
  const bool image = *image_format(start()) != '\0';
  // The "extension" of "face.0001" is a number.
  const bool tells = extension.find_first_not_of(".0123456789") != std::string::npos;
  if (image && !tells) return std::nullopt;
  return PassedOver{.file = name(),
                    .kind = tells ? printable_line(extension) : "without extension",
                    .may_be_image = image || may_hold_images(extension)};
}

std::map<std::string, std::int64_t> kinds_of(const std::vector<PassedOver>& files) {
  std::map<std::string, std::int64_t> kinds;
  for (const PassedOver& file : files) ++kinds[file.kind];
  return kinds;
}

std::string passed_over_text(const std::vector<PassedOver>& files) {
  const auto kinds = kinds_of(files);
  std::vector<std::pair<std::string, std::int64_t>> sorted(kinds.begin(), kinds.end());
  std::ranges::stable_sort(sorted,
                           [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text = fmt::format("{} file{}", files.size(), files.size() == 1 ? "" : "s");
  for (std::size_t i = 0; i < sorted.size(); ++i)
    text += fmt::format("{} {} {}", i == 0 ? ":" : ",", sorted[i].second, sorted[i].first);
  return text;
}

void log_passed_over(const std::vector<PassedOver>& files, const std::string& where) {
  const auto beside = [&](const PassedOver& file) {
    return !file.may_be_image && std::filesystem::path(file.file).parent_path() == where;
  };
  if (std::ranges::all_of(files, beside)) return;
  const auto image = std::ranges::find_if(files, &PassedOver::may_be_image);
  const std::string text = fmt::format("'{}': skipped {}", where, passed_over_text(files));
  if (image == files.end())
    log::info("[data] {}", text);
  else
    log::warn("[data] {}; '{}' may be an image; 'learn data verify' lists all", text, image->file);
}

}  // namespace learn::data
