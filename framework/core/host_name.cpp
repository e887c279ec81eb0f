#include "framework/core/host_name.h"

#include <unistd.h>

#include <array>

namespace learn {

std::string host_name() {
  std::array<char, 256> name{};
  (void)::gethostname(name.data(), name.size() - 1);
  return name.data();
}

}  // namespace learn
