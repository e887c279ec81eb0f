#pragma once
#include "framework/core/options/option_table.h"
#include "framework/nn/param_store.h"
#include "models/registry.h"

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace learn {

class Learner;
namespace data {
class Loaders;
}

/// The model of an experiment, and the part of it that is trained.
struct ModelSection {
  std::string model = "small";  ///< a spec of the registry
  std::int64_t width = 0;
  double dropout = 0;
  std::string pretrained;
  std::vector<std::string> split;
  std::string freeze = "none";
  bool train_bn = true;
  /// Not an option: `none` where the weights of all layers are loaded afterwards.
  nn::InitialValues initial_values = nn::InitialValues::drawn;

  void declare(OptionTable& table);
  /// Throws UsageError for an option that the model does not have.
  void check() const;
  /// Unsets values as `TrainingSection::leave_out_without_effect` does.
  void leave_out_without_effect(const std::set<std::string>& given);
  /// Returns the model with all its options: "resnet9:width=16". Throws UsageError.
  [[nodiscard]] Spec spec() const;
  [[nodiscard]] nn::Model make(const models::Task& task) const;
  /// Loads the pretrained weights, makes the layer groups and freezes the parts that are not
  /// trained. `grouped`: make groups even if nothing is frozen. `out`: the folder of all runs, one
  /// of which `pretrained` may name. Throws UsageError, CheckpointError.
  void prepare(Learner& learn,
               const data::Loaders& data,
               bool grouped,
               const std::string& out) const;
};

}  // namespace learn
