#pragma once
#include <cstdint>
#include <string>

namespace learn::cli {

struct DoctorOptions {
  std::string data_dir;      ///< where to look for data sets; empty: as `learn train` does
  std::int64_t threads = 0;  ///< for the measurement; 0: one per physical core
  double seconds = 2;        ///< how long to measure; 0: not at all
};

/// `learn doctor`: what this program is, what the machine offers it, which data sets it finds, and
/// how fast a matrix product is; of CUDA its devices, driver and libraries, and what --device auto
/// chooses and why. For bug reports, and for "why is my GPU not used?". Reports what
/// is missing, but fails for nothing but bad options.
int doctor(const DoctorOptions& options);

}  // namespace learn::cli
