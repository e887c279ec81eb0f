#pragma once
#include "data/dataset.h"

#include <string>

namespace learn {

/// Shows the progress of a long task on images, "reading 1 280 of 50 000 images", in a line on the
/// terminal that standard error writes to. The line disappears when the task is done. Shows nothing
/// without a terminal, and nothing in the first second.
[[nodiscard]] data::DataProgress progress_line(std::string what);

}  // namespace learn
