#pragma once
#include "callbacks/diagnose/parity_audit.h"
#include "callbacks/precision/mixed_precision.h"
#include "callbacks/precision/native_mixed_precision.h"
#include "callbacks/precision/pure_half.h"
#include "tests/callbacks/diagnose/parity_nets.h"
#include "tests/callbacks/net_training.h"

#include <doctest/doctest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

/// Trainings to audit, and what to look for.
namespace tiny {

using namespace learn::callbacks;

struct Fated : Training {
  explicit Fated(const Fate& fate = {}, LearnerOptions options = with_momentum())
      : Training(
            {16, 16, 16},
            {4},
            std::move(options),
            nn::make_model<FatefulNet>("net", {kFeatures}, static_cast<int>(kFeatures), fate)) {}

  void multiply(const std::string& parameter, double factor) {
    Tensor master = learn.params().master(learn.params().find(parameter));
    for (std::int64_t i = 0; i < master.elements(); ++i) set(master, i, factor * get(master, i));
  }
};

inline FitCallback half_model(MixedPrecisionOptions options = {}) {
  return std::make_shared<MixedPrecision>(options);
}
inline FitCallback autocast_to(DType dtype, std::optional<float> loss_scale = {}) {
  return std::make_shared<NativeMixedPrecision>(
      NativeMixedPrecisionOptions{.dtype = dtype, .loss_scale = loss_scale});
}
inline FitCallback pure_half(DType dtype) {
  return std::make_shared<PureHalf>(PureHalfOptions{.dtype = dtype});
}

inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

inline const ParityFinding& only_finding(const ParityAudit& audit) {
  CAPTURE(audit.to_string());
  REQUIRE(audit.findings.size() == 1);
  return audit.findings.front();
}

}  // namespace tiny
