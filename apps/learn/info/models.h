#pragma once
#include "apps/experiment/precision_section.h"

#include <cstdint>
#include <string>

namespace learn::cli {

struct ModelsOptions {
  std::string name;  ///< empty: list all
  std::int64_t classes = 10;
  std::int64_t image_size = 32;
  std::int64_t width = 0;
  PrecisionSection precision;
};

/// `learn models [NAME]`: a table of the registry, or the layers of one model as it computes in a
/// precision. Throws UsageError.
int models(const ModelsOptions& options);

}  // namespace learn::cli
