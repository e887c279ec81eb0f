#pragma once
#include <functional>
#include <stop_token>
#include <string_view>
#include <thread>
#include <vector>

namespace learn {

/// Starts `count` threads that run `work` each. If the system refuses a thread, as at a limit of
/// processes or of memory, fewer or none are started; a warning, one for each `name` ("loader
/// workers") in a process, reports how many. The caller must therefore work with any number, and
/// `work` must end when a stop is requested. The threads stop and are joined when they are
/// destroyed.
[[nodiscard]] std::vector<std::jthread> start_threads(
    int count, std::string_view name, const std::function<void(const std::stop_token&)>& work);

}  // namespace learn
