#include "framework/core/keyed_file.h"

#include "framework/core/regular_file.h"

namespace learn {

std::optional<std::string> read_keyed_file(const std::filesystem::path& file,
                                           const std::string& key,
                                           std::uint64_t limit) {
  std::error_code error;
  if (!std::filesystem::exists(file, error)) return std::nullopt;
  const std::string text = RegularFile(file).text(limit);
  const std::size_t end = text.find('\n');
  if (end == std::string::npos || text.compare(0, end, key) != 0) return std::nullopt;
  return text.substr(end + 1);
}

}  // namespace learn
