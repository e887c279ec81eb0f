#pragma once
#include "callbacks/diagnose/parity_audit.h"
#include "callbacks/diagnose/parity_trace.h"

#include <string>
#include <vector>

namespace learn::callbacks {

/// A parameter of the store, at its place there.
struct ParityParam {
  std::string name;
  bool keeps_f32 = false;
};

/// A batch in fp32 and in `half`, layer by layer. Parameters belong to the module in their name,
/// otherwise to a separate row. Modules that ran in only one precision are left out.
[[nodiscard]] ParityStep compare_steps(const StepTrace& full,
                                       const StepTrace& half,
                                       DType half_dtype,
                                       const std::vector<ParityParam>& params);

/// `text` and `advice` of a finding of an audit, from its evidence.
void put_in_words(const ParityAudit& audit, ParityFinding& finding);

/// Problems in the steps of an audit, the most important first.
[[nodiscard]] std::vector<ParityFinding> find_problems(const ParityAudit& audit);

}  // namespace learn::callbacks
