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

/// The words of `--precision`.
[[nodiscard]] std::vector<std::string> precision_names();

/// apex's name for one of them; empty: it had none.
[[nodiscard]] std::string opt_level_of(const std::string& precision);

/// The callbacks that they stand for.
[[nodiscard]] std::set<std::string> precision_callbacks();

/// What an experiment computes in.
struct PrecisionSection {
  std::string precision = "fp32";
  std::string opt_level;         ///< apex's word for it, which counts; empty: not used
  bool precision_given = false;  ///< by an option, so that a contradiction of the two is seen
  std::string loss_scale = "dynamic";
  bool flat_master = true;
  std::vector<std::string> keep_fp32;

  void declare(OptionTable& table);
  /// Of these options those that say what layers compute in.
  void declare_layers(OptionTable& table);
  /// Throws UsageError for options that contradict each other or have no effect.
  void check() const;
  /// Of --precision and --opt-level, which say the same, one is left: the first. Options that are
  /// set later then replace it, whichever they are. Throws UsageError if they contradict each
  /// other.
  void settle();
  /// Where options of a file or a saved run said `before`, and those that are `given` were set over
  /// them: what was said for the precision before and has no effect in another one is taken away.
  /// Returns whether it is another one.
  bool change_from(const PrecisionSection& before, const std::set<std::string>& given);
  /// The same in another precision, without what has no effect there. `name` is one of
  /// `precision_names`.
  [[nodiscard]] PrecisionSection in(const std::string& name) const;
  /// One of `--precision`, whichever option said it.
  [[nodiscard]] std::string chosen() const;
  [[nodiscard]] bool tf32() const { return chosen() == "tf32"; }
  /// What weights and inputs of the model are: f16, bf16 or f32.
  [[nodiscard]] DType dtype() const;
  /// What operations cast to, if weights stay f32.
  [[nodiscard]] std::optional<DType> autocast() const;
  /// The half that weights are rounded to, in the model or where they are used; nothing in fp32.
  [[nodiscard]] std::optional<DType> half() const;
  /// Whether there are f32 masters, if weights are halves.
  [[nodiscard]] nn::Masters masters() const;
  /// The callback of mixed precision as `--callbacks` would have it; empty for fp32.
  [[nodiscard]] std::string callback() const;
  /// Tells a learner: modules that keep f32, and the callback unless one that is given in full
  /// `replaces` it.
  void prepare(Learner& learn, bool replaced) const;
  /// Sets what the values of a store are in, as a learner's callback does. Throws UsageError as
  /// `check`, and for modules that are not there.
  void apply(nn::ParamStore& store) const;
  /// Throws UsageError unless the callback `given` in full computes in what `chosen` says, and no
  /// other option would make it.
  void check_replaced(const std::string& given) const;

 private:
  void check_words() const;
};

}  // namespace learn
