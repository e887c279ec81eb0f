#pragma once
#include "framework/core/dtype.h"
#include "framework/core/options/option_table.h"
#include "framework/nn/param_store.h"

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace learn {

class Learner;

/// Returns the values of `--precision`.
[[nodiscard]] std::vector<std::string> precision_names();

/// Returns apex's name for a precision; empty if apex lacks it.
[[nodiscard]] std::string opt_level_of(const std::string& precision);

/// Returns the callbacks that these values select.
[[nodiscard]] std::set<std::string> precision_callbacks();

/// The precision of an experiment.
struct PrecisionSection {
  std::string precision = "fp32";
  std::string opt_level;         ///< apex's name, which takes precedence; empty: not used
  bool precision_given = false;  ///< set by an option, to detect contradictions between the two
  std::string loss_scale = "dynamic";
  bool flat_master = true;
  std::vector<std::string> keep_fp32;

  void declare(OptionTable& table);
  /// Declares only the options that select the precision of layers.
  void declare_layers(OptionTable& table);
  /// Throws UsageError for options that contradict each other or have no effect.
  void check() const;
  /// Keeps only the first of --precision and --opt-level, which are synonyms, so that a later
  /// option replaces it, whichever of the two it is. Throws UsageError if they contradict each
  /// other.
  void settle();
  /// Adjusts options of a file or a saved run, `before`, after the options that are `given` were
  /// set over them: removes earlier options of the precision that have no effect in the new one.
  /// Returns whether the precision changed.
  bool change_from(const PrecisionSection& before, const std::set<std::string>& given);
  /// Returns this section in another precision, without the options that have no effect there.
  /// `name` is one of `precision_names`.
  [[nodiscard]] PrecisionSection in(const std::string& name) const;
  /// Returns the value of `--precision`, whichever option set it.
  [[nodiscard]] std::string chosen() const;
  [[nodiscard]] bool tf32() const { return chosen() == "tf32"; }
  /// Returns the type of the model's weights and inputs: f16, bf16 or f32.
  [[nodiscard]] DType dtype() const;
  /// Returns the type that operations cast to while weights stay f32.
  [[nodiscard]] std::optional<DType> autocast() const;
  /// Returns the half that weights are rounded to, in the model or on use; nothing in fp32.
  [[nodiscard]] std::optional<DType> half() const;
  /// Returns whether half weights have f32 masters.
  [[nodiscard]] nn::Masters masters() const;
  /// Returns the mixed precision callback in the form of `--callbacks`; empty for fp32.
  [[nodiscard]] std::string callback() const;
  /// Configures a learner: sets the modules that keep f32, and adds the callback unless one that is
  /// specified in full `replaces` it.
  void prepare(Learner& learn, bool replaced) const;
  /// Sets the types of a store's values, as a learner's callback does. Throws UsageError as `check`
  /// does, and for modules that do not exist.
  void apply(nn::ParamStore& store) const;
  /// Throws UsageError unless the callback `given` in full has the precision that `chosen` returns,
  /// and no other option affects the callback.
  void check_replaced(const std::string& given) const;

 private:
  void check_words() const;
};

}  // namespace learn
