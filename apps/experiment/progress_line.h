#pragma once
#include "data/dataset.h"

#include <string>

namespace learn {

/// Shows how far long work on images is, "reading  1 280 of 50 000 images", in a line of the
/// terminal behind standard error, which is gone when all is done. Where there is no terminal it is
/// silent, and so it is in the first second.
[[nodiscard]] data::DataProgress progress_line(std::string what);

}  // namespace learn
