#include "framework/nn/layers/pool.h"

#include "framework/autograd/ops.h"
#include "framework/core/error.h"

#include <fmt/core.h>

#include <string_view>

namespace learn::nn {
namespace {

std::string describe_window(std::string_view name, const Pool2dOptions& o) {
  std::string text = fmt::format("{}({}x{}", name, o.window_h, o.window_w);
  if (o.stride_h != o.window_h || o.stride_w != o.window_w)
    text += fmt::format(", stride {}x{}", o.stride_h, o.stride_w);
  if (o.pad_h != 0 || o.pad_w != 0) text += fmt::format(", pad {}x{}", o.pad_h, o.pad_w);
  return text + ")";
}

/// The operation's message cannot name the layer.
void check_fits(const std::string& path,
                std::string_view name,
                const Pool2dOptions& o,
                const Var& x) {
  const Shape& s = x.shape();
  check(s.rank() == 4 && s[1] + 2 * o.pad_h >= o.window_h && s[2] + 2 * o.pad_w >= o.window_w,
        "{} '{}' of {}x{} does not fit into {}: the images are too small for this model",
        name,
        path,
        o.window_h,
        o.window_w,
        s);
}

}  // namespace

Var MaxPool2d::forward(const Var& x) {
  check_fits(path(), "MaxPool2d", options_, x);
  return ops::max_pool2d(x, options_);
}

std::string MaxPool2d::describe() const { return describe_window("MaxPool2d", options_); }

Var AvgPool2d::forward(const Var& x) {
  check_fits(path(), "AvgPool2d", options_, x);
  return ops::avg_pool2d(x, options_);
}

std::string AvgPool2d::describe() const { return describe_window("AvgPool2d", options_); }

Var GlobalAvgPool::forward(const Var& x) { return ops::global_avg_pool(x); }

Var GlobalMaxPool::forward(const Var& x) { return ops::global_max_pool(x); }

}  // namespace learn::nn
