#pragma once
#include "callbacks/diagnose/parity_audit.h"
#include "callbacks/diagnose/parity_trace.h"

#include <string>
#include <vector>

namespace learn::callbacks {

/// A parameter and its position in the store.
struct ParityParam {
  std::string name;
  bool keeps_f32 = false;
};

/// Compares a batch in fp32 and in `half`, layer by layer. Parameters belong to the module they are
/// named after, or else to a separate row. A module that ran in only one of the two is left out.
[[nodiscard]] ParityStep compare_steps(const StepTrace& full,
                                       const StepTrace& half,
                                       DType half_dtype,
                                       const std::vector<ParityParam>& params);

/// Sets `text` and `advice` of a finding of an audit from its evidence.
void put_in_words(const ParityAudit& audit, ParityFinding& finding);

/// Returns the problems found in the steps of an audit, the most important first.
[[nodiscard]] std::vector<ParityFinding> find_problems(const ParityAudit& audit);

}  // namespace learn::callbacks
