#pragma once
#include "data/files/decode_files.h"
#include "data/sets/registry.h"
#include "framework/core/options/option_table.h"

#include <cstdint>
#include <filesystem>

namespace learn::data {

/// Options for reading images, whatever lists their files.
struct ImageOptions {
  std::filesystem::path path;
  std::int64_t size = 0;
  std::int64_t channels = 3;
  double max_bad = 0;
  bool skip_bad = false;
  bool stream = false;
  std::int64_t cache = 1024;  // MiB

  /// Skipped files are recorded in `into`. Throws UsageError for an option without effect.
  [[nodiscard]] DecodeFilesOptions decoding(const DataOptions& options, DataPair& into) const;
};

/// `what`: the kind of thing at `path`.
void declare_images(OptionTable& table, ImageOptions& options, const char* what);

/// Throws UsageError if a folder of published data sets is given, which the set `name` does not
/// use.
void refuse_directory(const char* name, const DataOptions& options);

}  // namespace learn::data
