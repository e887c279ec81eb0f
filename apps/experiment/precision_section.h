#pragma once
#include "framework/core/dtype.h"
#include "framework/core/option_table.h"
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
  std::string opt_level;  ///< apex's word for it; empty: not used
  std::string loss_scale = "dynamic";
  bool flat_master = true;
  std::vector<std::string> keep_fp32;

  void declare(OptionTable& table);
  /// Of these options those that say what layers compute in.
  void declare_layers(OptionTable& table);
  /// Throws UsageError for options that contradict each other or have no effect.
  void check() const;
  /// For a run that was begun as `begun` says and is resumed with the options `given`: of
  /// --precision and --opt-level the one that is given counts, and what was said for the precision
  /// before and has no effect in another one is taken away. Returns whether it is another one.
  bool resume(const PrecisionSection& begun, const std::set<std::string>& given);
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
  /// Throws UsageError unless the callback `given` in full computes in what `chosen` says, and no
  /// other option would make it.
  void check_replaced(const std::string& given) const;
};

}  // namespace learn
