#pragma once
#include <string>

namespace learn {

/// The name of this host; empty if it cannot be read.
[[nodiscard]] std::string host_name();

}  // namespace learn
