#include "tests/lab/cuda/fake/stop.h"

#include <unistd.h>

#include <cstdio>

namespace fakecuda {

void stop_with(std::string_view text) {
  std::fflush(stdout);
  fmt::print(stderr, "FAKE CUDA ERROR: {}\n", text);
  std::fflush(stderr);
  _exit(kFaultStatus);
}

}  // namespace fakecuda
