#pragma once
#include "framework/core/error.h"
#include "framework/core/function_ref.h"

#include <fmt/core.h>

#include <cstdio>
#include <exception>

namespace learn::bench {

/// The exit status of a bench program: what `body` returns, or that of the error it throws, which
/// is printed.
inline int report_errors(FunctionRef<int()> body) {
  try {
    return body();
  } catch (const Error& e) {
    fmt::print(stderr, "error: {}\n", e.what());
    return static_cast<int>(e.exit_code());
  } catch (const std::exception& e) {
    fmt::print(stderr, "error: {}\n", e.what());
    return 1;
  }
}

}  // namespace learn::bench
