#pragma once
#include "framework/autograd/tape.h"
#include "framework/nn/module.h"
#include "framework/nn/param_store.h"

#include <cstdint>
#include <optional>
#include <set>
#include <string>

namespace learn::nn {

/// The output of a model: its number on the tape and its shape.
struct DryOutput {
  std::uint32_t id = 0;
  Shape shape;
};

/// Shows `observer` a forward pass of one sample of shape `input`, zeros, in eval mode without
/// gradients, under autocast to `autocast` if there is one: nothing of the model changes.
DryOutput dry_pass(Module& model,
                   ParamStore& store,
                   const Shape& input,
                   Context& ctx,
                   ForwardObserver& observer,
                   const std::optional<DType>& autocast = {});

/// The names of the parameters and buffers that have one row for each output of the model: weight
/// (outputs,...) and bias (outputs) of its last layer, ignoring elementwise operations after it.
/// Empty if an operation of `input` to outputs that mixes them comes last, so that no row belongs
/// to one output alone.
[[nodiscard]] std::set<std::string> output_parameters(Module& model,
                                                      ParamStore& store,
                                                      const Shape& input);

/// The path of a BatchNorm that cannot train on a batch of one sample, because it has one value per
/// channel; empty if all can train. In the mode train_unfrozen, frozen ones are ignored.
[[nodiscard]] std::optional<std::string> norm_of_single_values(
    Module& model,
    ParamStore& store,
    const Shape& input,
    ForwardMode mode,
    const std::optional<DType>& autocast = {});

}  // namespace learn::nn
