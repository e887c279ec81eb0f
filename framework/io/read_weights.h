#pragma once
#include "framework/io/checkpoint.h"
#include "framework/io/class_match.h"

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

/// Common code of `load_weights` and the import of PyTorch's state dicts.
namespace learn::detail {

/// The tensors of a file by the names that a model has for them.
using NamedEntries = std::map<std::string, const TensorEntry*>;

/// A tensor's values and shape in the file.
struct FileValues {
  Shape shape;
  std::vector<double> values;
};

/// A parameter or buffer of a model by its name in a file.
struct Place {
  std::string name;
  Tensor tensor;
};

/// All of them, in the order in which the model declares them.
[[nodiscard]] std::vector<Place> places_of(nn::ParamStore& store);

struct ReadWeights {
  WeightsMatch match = WeightsMatch::strict;
  bool pytorch = true;  ///< names may have a wrapper's prefix, convolutions are OIHW
  /// Names of the outputs, and the parameters with a row for each.
  ClassMatch classes{};
  std::set<std::string> class_tensors{};
  /// Values that are not finite, and variances below 0. Else they are loaded, the former with a
  /// warning.
  bool refuse_bad_values = false;
  /// Changes what was read for the parameter of this name.
  std::function<void(const std::string&, FileValues&)> adjust{};
};

/// Reads tensors into a model: those of its names; for weight norm's g and v a plain weight, and
/// the other way round. Everything is compared before anything is written. Throws CheckpointError
/// as `load_weights`.
WeightsReport read_weights(const SafetensorsFile& file,
                           NamedEntries entries,
                           nn::ParamStore& store,
                           const ReadWeights& options);

/// Names of the outputs in a file's metadata; empty if missing.
[[nodiscard]] std::vector<std::string> class_names(const SafetensorsFile& file);

/// (K,R,S,C) as PyTorch orders it; other ranks are the same in both worlds.
[[nodiscard]] Shape file_shape(const Shape& shape);

/// Calls `f(ours, file)` for each element: its index in our layout and in PyTorch's.
template <class F>
void for_each_element(const Shape& s, F&& f) {
  if (s.rank() != 4) {
    for (std::int64_t i = 0; i < s.elements(); ++i) f(i, i);
    return;
  }
  const std::int64_t taps = s[1] * s[2];
  std::int64_t i = 0;
  for (std::int64_t k = 0; k < s[0]; ++k)
    for (std::int64_t tap = 0; tap < taps; ++tap)
      for (std::int64_t c = 0; c < s[3]; ++c) f(i++, (k * s[3] + c) * taps + tap);
}

}  // namespace learn::detail
