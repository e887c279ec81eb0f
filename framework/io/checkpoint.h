#pragma once
#include "framework/core/function_ref.h"
#include "framework/interfaces/state_visitor.h"
#include "framework/io/class_match.h"
#include "framework/io/safetensors.h"

#include <filesystem>
#include <string>
#include <vector>

namespace learn {

namespace nn {
struct Model;
class ParamStore;
}  // namespace nn

/// Shows everything that belongs in a checkpoint: `[&](StateVisitor& v) { learner.visit_state(v);
/// }`.
using VisitState = FunctionRef<void(StateVisitor&)>;

/// Writes all state: tensors as tensors, numbers and texts in the metadata under "state.NAME".
/// Atomic; see write_safetensors for `previous` and the errors.
void save_state(const std::filesystem::path& path,
                VisitState visit,
                Metadata metadata = {},
                const std::filesystem::path& previous = {});
/// Reads it back and returns the file's metadata. Names, shapes and dtypes must be those that
/// `visit` visits: differences are a CheckpointError that lists up to ten of each kind. Values of
/// the model that are not finite are loaded, with a warning. After an error the visited object may
/// be partly loaded and must not be used.
Metadata load_state(const std::filesystem::path& path, VisitState visit);

class SafetensorsFile;
/// Reads only the state that `visit` visits, and ignores the rest of the file.
void load_part_of_state(const SafetensorsFile& file, VisitState visit);

/// Writes the masters and buffers of a model as PyTorch would name and lay them out: convolution
/// weights (K,R,S,C) as OIHW, all in f32, and a `num_batches_tracked` of 0 next to each running
/// variance, so that `load_state_dict(load_file(path))` of the same model in PyTorch just works.
/// (Not so for a linear layer that flattens more than one pixel: PyTorch flattens channels first.)
void save_weights(const std::filesystem::path& path, nn::ParamStore& store, Metadata metadata = {});

/// A mismatch of a file and a model: "fc.weight (2,512), here (10,512)".
struct WeightsReport {
  std::vector<std::string> missing;     ///< in the model, not in the file
  std::vector<std::string> unexpected;  ///< in the file, not in the model
  std::vector<std::string> mismatched;  ///< in both, with different shapes
  std::int64_t loaded = 0;              ///< parameters and buffers that were read
  ClassMatch classes{};                 ///< where names of classes were given
  [[nodiscard]] bool clean() const {
    return missing.empty() && unexpected.empty() && mismatched.empty();
  }
  /// The lists in words, up to ten names of each.
  [[nodiscard]] std::string describe() const;
};

enum class WeightsMatch : std::uint8_t {
  strict,   ///< every name and shape must match
  partial,  ///< what matches is loaded, the rest stays: fine-tuning with another head
};

/// Reads such a file (any floating dtype), or the model's part of a training's state, into a model.
/// Weight norm's parameters may have the names of PyTorch's `parametrizations`, too; they are
/// converted to plain weights and vice versa. A prefix that wrappers of PyTorch add to all names
/// ("module.", "_orig_mod.") is removed, with a message in the log. Everything is compared before
/// anything is written; values that are not finite are loaded, with a warning. Throws
/// CheckpointError that lists the differences, also in `partial` mode if nothing matches.
WeightsReport load_weights(const std::filesystem::path& path,
                           nn::ParamStore& store,
                           WeightsMatch match = WeightsMatch::strict);
/// Reads weights into a model whose outputs have the names `classes` (or labels, or values). If the
/// file names its own, rows of the last layer are matched by name, in any order and number; rows of
/// new classes keep their values, which in `strict` mode is an error. See `WeightsReport::classes`.
WeightsReport load_weights(const std::filesystem::path& path,
                           const nn::Model& model,
                           const std::vector<std::string>& classes,
                           WeightsMatch match = WeightsMatch::strict);

}  // namespace learn
