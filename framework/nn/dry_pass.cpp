#include "framework/nn/dry_pass.h"

#include "framework/core/error.h"
#include "framework/kernels/cast/fill.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace learn::nn {
namespace {

/// Origin of each value of a forward pass.
class Origins final : public ForwardObserver {
 public:
  explicit Origins(ParamStore& store) {
    for (std::int64_t i = 0; i < store.size(); ++i)
      names_.emplace(std::as_const(store.slot(i).value).raw(), store.info(i).name);
    for (std::int64_t i = 0; i < store.buffer_count(); ++i)
      names_.emplace(std::as_const(store.buffer(i).value).raw(), store.buffer(i).name);
  }

  void forwarded(const Module&, const Var&, const Var&) override {}

  void recorded(const Node& node, std::span<const Var> inputs, const Var& out) override {
    Origin& origin = origins_[out.id()];
    origin.op = node.name();
    for (const Var& input : inputs) origin.inputs.push_back({input.id(), input.shape()});
    for (const Var& input : inputs)
      if (const auto known = names_.find(input.value().raw()); known != names_.end())
        parameters_[input.id()] = known->second;
    const OpAttributes attributes = node.attributes();
    if (const auto* const norm = std::get_if<BatchNormAttributes>(&attributes))
      for (const Tensor& statistics : {norm->running_mean, norm->running_var})
        if (const auto known = names_.find(statistics.raw()); known != names_.end())
          origin.buffers.push_back(known->second);
  }

  /// The parameters and buffers with a row for each of the `outputs` of a value.
  std::set<std::string> rows_of(const DryOutput& output) {
    outputs_ = output.shape[-1];
    follow(output.id, false);
    return mixed_ ? std::set<std::string>() : std::move(found_);
  }

 private:
  struct Input {
    std::uint32_t id = 0;
    Shape shape;
  };
  struct Origin {
    std::string op;
    std::vector<Input> inputs;
    std::vector<std::string> buffers;
  };

  /// `weight`: outputs are its rows; otherwise they are its last dimension.
  void follow(std::uint32_t value, bool weight) {
    if (!seen_.insert(value).second) return;
    if (const auto parameter = parameters_.find(value); parameter != parameters_.end()) {
      found_.insert(parameter->second);
      return;
    }
    const auto made = origins_.find(value);
    if (made == origins_.end()) return;
    const Origin& origin = made->second;
    constexpr std::array<std::string_view, 4> kMixing{"matmul", "permute", "slice", "concat"};
    if (std::ranges::find(kMixing, origin.op) != kMixing.end()) {
      mixed_ = true;
      return;
    }
    found_.insert(origin.buffers.begin(), origin.buffers.end());
    const bool layer = origin.op == "linear" || origin.op == "conv2d";
    for (std::size_t i = layer ? 1 : 0; i < origin.inputs.size(); ++i) {
      const Shape& shape = origin.inputs[i].shape;
      const bool rows = weight || layer;
      if (shape.rank() > 0 && shape[rows ? 0 : -1] == outputs_) follow(origin.inputs[i].id, rows);
    }
  }

  std::map<const std::byte*, std::string> names_;  // of what the store holds
  std::map<std::uint32_t, Origin> origins_;
  std::map<std::uint32_t, std::string> parameters_;
  std::set<std::uint32_t> seen_;
  std::set<std::string> found_;
  std::int64_t outputs_ = 0;
  bool mixed_ = false;
};

class SingleValues final : public ForwardObserver {
 public:
  SingleValues(const ParamStore& store, bool frozen_too) : store_(store), frozen_too_(frozen_too) {}

  void entered(const Module& module) override { modules_.push_back(module.path()); }
  void forwarded(const Module&, const Var&, const Var&) override { modules_.pop_back(); }

  void recorded(const Node& node, std::span<const Var> inputs, const Var&) override {
    if (found || node.name() != "batch_norm") return;
    const Shape& x = inputs[0].shape();
    if (x.elements() != x[-1]) return;
    const std::string path = modules_.empty() ? "" : modules_.back();
    const std::int64_t weight = store_.find(path + ".weight");
    if (frozen_too_ || weight < 0 || store_.slot(weight).trainable) found = path;
  }

  std::optional<std::string> found;

 private:
  const ParamStore& store_;
  bool frozen_too_;
  std::vector<std::string> modules_;  // those that run, the innermost last
};

}  // namespace

DryOutput dry_pass(Module& model,
                   ParamStore& store,
                   const Shape& input,
                   Context& ctx,
                   ForwardObserver& observer,
                   const std::optional<DType>& autocast) {
  Shape batch{1};
  for (const std::int64_t extent : input) batch.push_back(extent);
  Tape tape(ctx, {.mode = ForwardMode::eval, .grad = false, .autocast = autocast});
  tape.observe(&observer);
  Tensor x = tape.empty(batch, store.working_dtype());
  kernels::fill(ctx, x, 0);
  const Var out = model(tape.input(x));
  return {out.id(), out.shape()};
}

std::set<std::string> output_parameters(Module& model, ParamStore& store, const Shape& input) {
  Origins origins(store);
  const DryOutput output = dry_pass(model, store, input, store.context(), origins);
  return output.shape.rank() > 0 ? origins.rows_of(output) : std::set<std::string>();
}

std::optional<std::string> norm_of_single_values(Module& model,
                                                 ParamStore& store,
                                                 const Shape& input,
                                                 ForwardMode mode,
                                                 const std::optional<DType>& autocast) {
  if (mode == ForwardMode::eval) return {};
  SingleValues values(store, mode == ForwardMode::train);
  dry_pass(model, store, input, store.context(), values, autocast);
  return values.found;
}

}  // namespace learn::nn
