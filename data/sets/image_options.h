#pragma once
#include "data/files/decode_files.h"
#include "data/sets/registry.h"
#include "framework/core/options/option_table.h"

#include <cstdint>
#include <filesystem>

namespace learn::data {

/// How images are read, of whatever names their files.
struct ImageOptions {
  std::filesystem::path path;
  std::int64_t size = 0;
  std::int64_t channels = 3;
  double max_bad = 0;
  bool skip_bad = false;
  bool stream = false;
  std::int64_t cache = 1024;  // MiB

  /// Skipped files are added to the pair `into`. Throws UsageError for an option without effect.
  [[nodiscard]] DecodeFilesOptions decoding(const DataOptions& options, DataPair& into) const;
};

/// `what`: what `path` leads to.
void declare_images(OptionTable& table, ImageOptions& options, const char* what);

/// Throws UsageError for a folder of published data sets, which means nothing to the set `name`.
void refuse_directory(const char* name, const DataOptions& options);

}  // namespace learn::data
