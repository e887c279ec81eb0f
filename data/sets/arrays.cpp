#include "data/sets/arrays.h"

#include "framework/core/error.h"

#include <algorithm>
#include <utility>

namespace learn::data {
namespace {

std::int64_t size_of(const auto& values) { return static_cast<std::int64_t>(values.size()); }

void set_form(Dataset& out, const Shape& sample) {
  const int rank = sample.rank();
  check<DataError>(rank >= 1 && rank <= 3 && sample.elements() > 0,
                   "arrays: samples must be (F) for features, (H,W,C) or (H,W) for images, not {}",
                   sample);
  out.height = rank > 1 ? sample[0] : 0;
  out.width = rank > 1 ? sample[1] : 0;
  out.channels = rank == 2 ? 1 : sample[-1];
}

/// Returns the number of samples in the arrays.
std::int64_t count_of(const Arrays& a) {
  check<DataError>(a.x.empty() != a.bytes.empty(), "arrays: give either floats or bytes");
  check<DataError>(a.bytes.empty() || a.sample.rank() > 1,
                   "arrays: bytes must be images, not samples of shape {}",
                   a.sample);
  const std::int64_t each = a.sample.elements();
  const std::int64_t values = size_of(a.x) + size_of(a.bytes);
  check<DataError>(values % each == 0,
                   "arrays: {} numbers are not a multiple of the sample shape {}",
                   values,
                   a.sample);
  return values / each;
}

/// Returns the number of classes, or of targets per sample.
std::int64_t check_targets(const Arrays& a, std::int64_t count) {
  check<DataError>(a.classes.empty() != a.targets.empty(),
                   "arrays: give either classes or targets");
  check<DataError>(a.targets.empty() || a.target_kind != TargetKind::classes,
                   "arrays: targets must be labels or values; give classes as `classes`");
  check<DataError>(size_of(a.targets) % count == 0,
                   "arrays: {} targets for {} samples",
                   a.targets.size(),
                   count);
  if (a.classes.empty()) return size_of(a.targets) / count;
  check<DataError>(
      size_of(a.classes) == count, "arrays: {} classes for {} samples", a.classes.size(), count);
  const auto [lowest, largest] = std::ranges::minmax_element(a.classes);
  check<DataError>(*lowest >= 0,
                   "arrays: class {} of sample {} is negative",
                   *lowest,
                   lowest - a.classes.begin());
  return *largest + 1;
}

}  // namespace

Dataset from_arrays(Arrays a) {
  Dataset out;
  set_form(out, a.sample);
  const std::int64_t wanted = check_targets(a, count_of(a));
  out.name = std::move(a.name);
  out.classes = std::move(a.names);
  const std::int64_t named = size_of(out.classes);
  // Some classes may have no samples.
  check<DataError>(named == 0 || (a.targets.empty() ? named >= wanted : named == wanted),
                   "arrays: {} names for {} {}",
                   named,
                   wanted,
                   a.targets.empty() ? "classes" : "targets of each sample");
  for (std::int64_t c = named; named == 0 && c < wanted; ++c)
    out.classes.push_back(std::to_string(c));
  check_class_names(out.classes, out.name);
  if (!a.targets.empty()) out.target_kind = a.target_kind;
  out.labels = std::move(a.classes);
  out.targets = std::move(a.targets);
  out.features = std::move(a.x);
  out.pixels = std::move(a.bytes);
  out.validate();
  return out;
}

}  // namespace learn::data
