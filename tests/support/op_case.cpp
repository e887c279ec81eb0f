#include "tests/support/op_case.h"

#include "framework/core/random.h"
#include "tests/support/on_device.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <deque>
#include <numeric>
#include <utility>

namespace learn::test {
namespace {

constexpr std::uint64_t kCotangentStream = 1000;
constexpr std::uint64_t kStartStream = 1001;

double draw(std::uint64_t seed, std::uint64_t stream, std::size_t i) {
  return static_cast<double>(uniform01(random4(seed, RandomPurpose::test, stream, i).v[0]));
}

double away_from_kinks(const OpInput& input, double value) {
  const double margin = (input.high - input.low) / 100;
  for (const double kink : input.kinks)
    if (std::abs(value - kink) < margin) value = kink + (value < kink ? -margin : margin);
  return value;
}

std::vector<double> draw_input(const OpInput& input, std::uint64_t seed, std::uint64_t stream) {
  const auto n = static_cast<std::size_t>(input.shape.elements());
  std::vector<double> out(n);
  for (std::size_t i = 0; i < n; ++i) out[i] = draw(seed, stream, i);
  if (input.distinct) {
    std::vector<std::size_t> order(n);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(
        order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return out[a] < out[b]; });
    for (std::size_t rank = 0; rank < n; ++rank)
      out[order[rank]] = (static_cast<double>(rank) + 0.5) / static_cast<double>(n);
  }
  for (double& v : out) v = away_from_kinks(input, input.low + (input.high - input.low) * v);
  return out;
}

/// sum(cotangent * y) as the loss, independent of the operations under test.
struct DotNode final : Node {
  Context& ctx;
  std::uint64_t seed;
  DotNode(Context& c, std::uint64_t s) : ctx(c), seed(s) {}
  std::string_view name() const override { return "test_dot"; }
  void backward(Tape& tape, const Tensor& dy) override {
    tape.accumulate(input(0), [&](Tensor& dx, GradMode mode) {
      const double factor = get(to_host(ctx, dy), 0);
      // Memory that is to be overwritten may never have been written, and must not be read.
      Tensor sum = mode == GradMode::accumulate ? to_host(ctx, dx)
                                                : full(host_values(), dx.shape(), dx.dtype(), 0);
      for (std::int64_t i = 0; i < sum.elements(); ++i)
        set(sum, i, get(sum, i) + cotangent_value(seed, i) * factor);
      copy(ctx, to_device(ctx, ctx.step(), sum), dx);
    });
  }
};

ParamSlot make_slot(Context& ctx, const OpInput& input, Tensor value, bool accumulate) {
  ParamSlot slot;
  slot.name = input.name;
  slot.value = std::move(value);
  Tensor grad = full(host_values(), slot.value.shape(), slot.value.dtype(), NAN);
  if (accumulate)
    for (std::int64_t i = 0; i < grad.elements(); ++i) set(grad, i, start_value(i));
  slot.grad = to_device(ctx, ctx.step(), grad);
  if (accumulate) slot.adopt_grad();
  return slot;
}

/// On the host whatever the device; undefined stays undefined.
Tensor fetched(Context& ctx, const Tensor& tensor) {
  if (!tensor.defined() || tensor.device().is_cpu()) return tensor;
  return to_host(ctx, tensor);
}

}  // namespace

DType dtype_of(const OpInput& input, DType dtype) {
  if (input.dtype.has_value()) return *input.dtype;
  return input.full_precision && is_half(dtype) ? DType::f32 : dtype;
}

OpValues draw_values(const OpCase& op, std::uint64_t seed) {
  OpValues out;
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    const OpInput& input = op.inputs[i];
    out.push_back(input.values.empty() ? draw_input(input, seed, i) : input.values);
  }
  return out;
}

OpValues round_values(const OpCase& op, OpValues values, DType dtype) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const OpInput& input = op.inputs[i];
    const Tensor rounded =
        from_values(host_values(), input.shape, values[i], dtype_of(input, dtype));
    for (std::size_t j = 0; j < values[i].size(); ++j)
      values[i][j] = get(rounded, static_cast<std::int64_t>(j));
  }
  return values;
}

OpRun run_op(Context& ctx, const OpCase& op, const OpValues& values, const OpRunOptions& options) {
  Tape tape(ctx, {.mode = op.mode, .grad = options.backward, .batch = 3});
  std::deque<ParamSlot> slots;  // the tape keeps their addresses
  std::vector<ParamSlot*> slot_of(op.inputs.size(), nullptr);
  std::vector<Var> inputs;
  OpRun run;
  run.grads.resize(op.inputs.size());
  run.states.resize(op.inputs.size());
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    const OpInput& input = op.inputs[i];
    Tensor value = to_device(
        ctx,
        ctx.step(),
        from_values(host_values(), input.shape, values[i], dtype_of(input, options.dtype)));
    if (input.role == OpInput::Role::state) run.states[i] = value;
    if (input.role == OpInput::Role::gradient) {
      slot_of[i] = &slots.emplace_back(make_slot(ctx, input, value, options.accumulate));
      inputs.push_back(tape.param(*slot_of[i]));
    } else {
      inputs.push_back(tape.input(value));
    }
  }
  const Var y = op.call(tape, inputs);
  run.output = fetched(ctx, y.value());
  if (options.backward) {
    const DType wide = y.dtype() == DType::f64 ? DType::f64 : DType::f32;
    Tensor loss = to_device(ctx, ctx.step(), full(host_values(), {}, wide, 0));
    tape.backward(tape.record({y}, loss, DotNode(ctx, options.seed)));
    for (std::size_t i = 0; i < op.inputs.size(); ++i)
      if (slot_of[i] != nullptr) run.grads[i] = fetched(ctx, slot_of[i]->grad);
  }
  for (Tensor& state : run.states) state = fetched(ctx, state);
  return run;
}

double cotangent_value(std::uint64_t seed, std::int64_t i) {
  const double u = draw(seed, kCotangentStream, static_cast<std::size_t>(i));
  return std::round(128 * u - 64) / 64;
}

double start_value(std::int64_t i) {
  return std::round(128 * draw(1, kStartStream, static_cast<std::size_t>(i)) - 64) / 64;
}

ContextOptions guarded(int threads, bool reference) {
  return {.threads = threads, .reference = reference, .arena = {.guard = true, .poison = true}};
}

ContextOptions on_cuda() { return {.device = Device::cuda(), .arena = {.exact = true}}; }

std::uint64_t test_seed() {
  const char* text = std::getenv("LEARN_TEST_SEED");
  return text == nullptr ? 20240 : std::strtoull(text, nullptr, 10);
}

}  // namespace learn::test
