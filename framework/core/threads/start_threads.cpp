#include "framework/core/threads/start_threads.h"

#include "framework/core/log.h"

#include <functional>
#include <mutex>
#include <new>
#include <set>
#include <string>
#include <system_error>

namespace learn {
namespace {

/// Whether a shortage was not reported yet: a process at the system's limit of threads meets it
/// repeatedly.
bool is_news(std::string_view name) {
  static std::mutex mutex;
  static std::set<std::string, std::less<>> known;
  const std::lock_guard lock(mutex);
  return known.emplace(name).second;
}

}  // namespace

std::vector<std::jthread> start_threads(int count,
                                        std::string_view name,
                                        const std::function<void(const std::stop_token&)>& work) {
  std::vector<std::jthread> threads;
  threads.reserve(static_cast<std::size_t>(count));
  const auto warn = [&](const std::string& reason) {
    if (!is_news(name)) return;
    log::warn(
        "[threads] only {} of {} {} could be started ({}): results are the same, but slower; see "
        "'ulimit -u', 'ulimit -v' and the container's limits of processes and memory",
        threads.size(),
        count,
        name,
        reason);
  };
  try {
    while (threads.size() < threads.capacity()) threads.emplace_back(work);
  } catch (const std::system_error& refusal) {
    warn(refusal.code().message());
  } catch (const std::bad_alloc&) {
    warn("out of memory");
  }
  return threads;
}

}  // namespace learn
