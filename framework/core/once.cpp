#include "framework/core/once.h"

#include <mutex>
#include <set>

namespace learn {

bool first_time(const std::string& text) {
  static std::mutex mutex;
  static std::set<std::string> seen;
  const std::lock_guard lock(mutex);
  return seen.insert(text).second;
}

}  // namespace learn
