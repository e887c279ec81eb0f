#pragma once
#include <cstdint>
#include <string>

namespace learn::cli {

struct ModelsOptions {
  std::string name;  ///< empty: list all
  std::int64_t classes = 10;
  std::int64_t image_size = 32;
  std::int64_t width = 0;
};

/// `learn models [NAME]`: a table of the registry, or the layers of one model. Throws UsageError.
int models(const ModelsOptions& options);

}  // namespace learn::cli
