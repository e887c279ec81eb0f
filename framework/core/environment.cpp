#include "framework/core/environment.h"

#include <cstdlib>

namespace learn {

const char* environment(const char* name) noexcept {
  const char* const text = std::getenv(name);
  return text == nullptr || *text == '\0' ? nullptr : text;
}

}  // namespace learn
