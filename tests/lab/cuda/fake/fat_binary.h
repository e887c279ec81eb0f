#pragma once
#include <string>

namespace fakecuda {

/// Returns the PTX text in the argument of __cudaRegisterFatBinary from nvcc's host code. Stops if
/// there is none or if it is compressed. The format is not documented; it is that of CUDA 13.0: a
/// header of 16 bytes, then entries, of which kind 1 is PTX.
[[nodiscard]] std::string ptx_of_fat_binary(const void* wrapper);

}  // namespace fakecuda
