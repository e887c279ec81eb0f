#include "framework/nn/range_scan.h"

#include "framework/runtime/transfer.h"
#include "framework/tensor/convert.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

namespace learn::nn {
namespace {

template <class H>
void look_at(ParamRange& range, double value, double normal) {
  if (!std::isfinite(value)) {
    ++range.not_finite;
    return;
  }
  range.largest = std::max(range.largest, std::abs(value));
  if (!range.cast) return;
  const double rounded = std::abs(as_double(from_double<H>(value)));
  if (std::isinf(rounded))
    ++range.overflow;
  else if (rounded == 0)
    range.zero += value != 0 ? 1 : 0;
  else if (rounded < normal)
    ++range.subnormal;
}

ParamRange range_of(const Tensor& master, const std::string& name, bool cast, DType half) {
  ParamRange range{.name = name, .count = master.elements(), .cast = cast};
  const double normal = smallest_normal(half);
  visit_floating(master.dtype(), [&]<class T>() {
    for (const T value : master.span<T>())
      if (half == DType::f16)
        look_at<Half>(range, as_double(value), normal);
      else
        look_at<BFloat16>(range, as_double(value), normal);
  });
  return range;
}

BufferRange range_of(const std::string& name, const Tensor& values) {
  BufferRange range{.name = name, .count = values.elements()};
  const bool variance = name == "running_var" || name.ends_with(".running_var");
  visit_floating(values.dtype(), [&]<class T>() {
    for (const T element : values.span<T>()) {
      const double value = as_double(element);
      if (!std::isfinite(value))
        ++range.not_finite;
      else if (variance && value < 0)
        ++range.negative;
    }
  });
  return range;
}

}  // namespace

double smallest_normal(DType half) { return half == DType::f16 ? 0x1p-14 : 0x1p-126; }

double largest_finite(DType half) {
  return half == DType::f16 ? 65504 : static_cast<double>(to_float(BFloat16{0x7F7F}));
}

std::vector<ParamRange> RangeScan::overflowing() const {
  std::vector<ParamRange> found;
  std::copy_if(params.begin(), params.end(), std::back_inserter(found), [](const ParamRange& p) {
    return p.overflow > 0;
  });
  std::stable_sort(found.begin(), found.end(), [](const ParamRange& a, const ParamRange& b) {
    return a.largest > b.largest;
  });
  return found;
}

std::vector<ParamRange> RangeScan::vanishing(double share) const {
  std::vector<ParamRange> found;
  std::copy_if(params.begin(), params.end(), std::back_inserter(found), [&](const ParamRange& p) {
    return p.zero > 0 && p.share(p.zero) >= share;
  });
  std::stable_sort(found.begin(), found.end(), [](const ParamRange& a, const ParamRange& b) {
    return a.share(a.zero) > b.share(b.zero);
  });
  return found;
}

std::string RangeScan::verdict() const {
  ParamRange all;
  for (const ParamRange& p : params) {
    if (!p.cast) continue;
    all.count += p.count;
    all.not_finite += p.not_finite;
    all.overflow += p.overflow;
    all.zero += p.zero;
    all.subnormal += p.subnormal;
    all.largest = std::max(all.largest, p.largest);
  }
  if (all.count == 0) return fmt::format("as {}: no parameters would be cast", half);
  return fmt::format(
      "as {}: {} of {} values overflow (the largest is {:.4g}), {} become zero, {} are subnormal, "
      "{} are NaN or infinite already",
      half,
      all.overflow,
      all.count,
      all.largest,
      percent(all.share(all.zero)),
      percent(all.share(all.subnormal)),
      all.not_finite);
}

RangeScan scan_range(ParamStore& store, DType half, Masters masters) {
  check<DTypeError>(is_half(half), "scan_range: the type must be f16 or bf16, not {}", half);
  Context& ctx = store.context();
  RangeScan scan{.half = half};
  for (std::int64_t i = 0; i < store.size(); ++i) {
    const ParamInfo& info = store.info(i);
    const bool cast = !info.keeps_f32 || masters == Masters::none;
    scan.params.push_back(range_of(to_host(ctx, store.master(i)), info.name, cast, half));
  }
  for (std::int64_t i = 0; i < store.buffer_count(); ++i) {
    const BufferSlot& buffer = store.buffer(i);
    BufferRange range = range_of(buffer.name, to_host(ctx, buffer.value));
    if (range.not_finite + range.negative > 0) scan.bad_buffers.push_back(std::move(range));
  }
  return scan;
}

}  // namespace learn::nn
