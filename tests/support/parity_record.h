#pragma once
#include "framework/core/dtype.h"

#include <string>
#include <string_view>

namespace learn::test {

/// Notes how near a result came to what is allowed: `ratio` is the largest error of its elements
/// over the error allowed there, NaN if it is not a number. The worst of each operation and type is
/// printed when the program ends, as "parity: OPERATION TYPE RATIO (WHERE)": how much room there
/// is, and where it is missing, in one run.
void note_parity(std::string_view operation, DType dtype, double ratio, const std::string& where);

}  // namespace learn::test
