#include "tests/support/gradcheck.h"

#include "framework/autograd/gradcheck.h"
#include "framework/tensor/factory.h"
#include "tests/support/parity_record.h"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace learn::test {
namespace {

double rms(const Tensor& t) {
  double sum = 0;
  for (std::int64_t i = 0; i < t.elements(); ++i) sum += get(t, i) * get(t, i);
  return std::sqrt(sum / static_cast<double>(std::max<std::int64_t>(1, t.elements())));
}

double epsilon_of(DType dtype) {
  switch (dtype) {
    case DType::f16:
      return 0x1p-10;
    case DType::bf16:
      return 0x1p-7;
    case DType::f64:
      return 0x1p-52;
    default:
      return 0x1p-23;
  }
}

/// The element that is farthest off, in multiples of the error that is allowed there.
struct Worst {
  double ratio = 0;
  std::int64_t at = 0;
  double allowed = 0;
};

/// "conv2d" of "conv2d 3x3 to 8 channels".
std::string_view first_word(std::string_view name) {
  return name.substr(0, name.find_first_of(" ("));
}

Comparison within_units(const OpCase& op,
                        const std::string& what,
                        const Tensor& got,
                        const Tensor& expected) {
  if (!expected.defined()) return {true, "absent"};
  if (got.shape() != expected.shape())
    return {
        false,
        fmt::format("{}: {} has shape {}, not {}", op.name, what, got.shape(), expected.shape())};
  const double eps = epsilon_of(got.dtype()) +
                     epsilon_of(DType::f32) * std::sqrt(static_cast<double>(op.reduction));
  const double scale = rms(expected);
  Worst worst;
  for (std::int64_t i = 0; i < got.elements() && !std::isnan(worst.ratio); ++i) {
    const double want = get(expected, i);
    const double allowed = op.units * eps * std::max(std::abs(want), scale) + 0x1p-25;
    const double ratio = std::abs(get(got, i) - want) / allowed;
    if (!(ratio <= worst.ratio)) worst = {ratio, i, allowed};  // also for NaN
  }
  if (testing_cuda())
    note_parity(first_word(op.name), got.dtype(), worst.ratio, what + " of " + op.name);
  if (worst.ratio <= 1) return {true, "within tolerance"};
  return {false,
          fmt::format("{}: {} at {}: {} instead of {} ({:.3g} times the {:.3g} allowed)",
                      op.name,
                      what,
                      worst.at,
                      get(got, worst.at),
                      get(expected, worst.at),
                      worst.ratio,
                      worst.allowed)};
}

/// Calls `compare(what, a, b)` for all that two runs yielded, until one differs.
template <class Compare>
Comparison compare_runs(const OpCase& op, const OpRun& a, const OpRun& b, Compare&& compare) {
  Comparison result = compare(std::string("output"), a.output, b.output);
  for (std::size_t i = 0; i < op.inputs.size() && result; ++i) {
    if (a.states[i].defined())
      result = compare("state " + op.inputs[i].name, a.states[i], b.states[i]);
    if (result && a.grads[i].defined())
      result = compare("gradient of " + op.inputs[i].name, a.grads[i], b.grads[i]);
  }
  return result;
}

}  // namespace

Comparison check_gradients(const OpCase& op, std::uint64_t seed) {
  const OpValues values = draw_values(op, seed);
  std::vector<GradientInput> inputs;
  for (std::size_t i = 0; i < op.inputs.size(); ++i)
    inputs.push_back({.name = op.inputs[i].name,
                      .shape = op.inputs[i].shape,
                      .values = values[i],
                      .checked = op.inputs[i].role == OpInput::Role::gradient,
                      .dtype = dtype_of(op.inputs[i], DType::f64)});
  const GradientReport report = learn::check_gradients(op.call,
                                                       inputs,
                                                       {.tolerance = op.gradient_tolerance,
                                                        .seed = seed,
                                                        .skip_kinks = op.inner_kinks,
                                                        .mode = op.mode});
  if (report) return {true, "gradients agree"};
  return {false, fmt::format("{} (seed {}): {}", op.name, seed, report.text())};
}

Comparison check_parity(const OpCase& op, std::uint64_t seed) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    const OpValues values = round_values(op, draw_values(op, seed), dtype);
    for (const bool accumulate : {false, true}) {
      Context oracle(guarded());
      const OpRun expected = run_op(oracle, op, values, {.accumulate = accumulate, .seed = seed});
      for (const bool reference : {false, true}) {
        Context ctx(guarded(2, reference));
        const OpRun got =
            run_op(ctx, op, values, {.dtype = dtype, .accumulate = accumulate, .seed = seed});
        Comparison result = compare_runs(
            op, got, expected, [&](const std::string& what, const Tensor& a, const Tensor& b) {
              return within_units(op, what, a, b);
            });
        if (!result) {
          result.text += fmt::format(" [{}, {}, {}, seed {}]",
                                     name_of(dtype),
                                     reference ? "reference" : "fast",
                                     accumulate ? "accumulate" : "overwrite",
                                     seed);
          return result;
        }
      }
    }
  }
  return {true, "parity holds"};
}

Comparison check_determinism(const OpCase& op, std::uint64_t seed) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    const OpValues values = round_values(op, draw_values(op, seed), dtype);
    Context first(guarded(1));
    const OpRun expected = run_op(first, op, values, {.dtype = dtype, .seed = seed});
    for (const int threads : {1, 2, 3}) {
      Context ctx(guarded(threads));
      const OpRun got = run_op(ctx, op, values, {.dtype = dtype, .seed = seed});
      Comparison result = compare_runs(
          op, got, expected, [&](const std::string& what, const Tensor& a, const Tensor& b) {
            Comparison same = same_bits(a, b);
            same.text = fmt::format("{}: {} with {} threads in {}: {} (seed {})",
                                    op.name,
                                    what,
                                    threads,
                                    name_of(dtype),
                                    same.text,
                                    seed);
            return same;
          });
      if (!result) return result;
    }
  }
  return {true, "same bits"};
}

Comparison check_cuda(const OpCase& op, std::uint64_t seed) {
  std::string wrong;  // all of it: a run on a GPU is worth more than its first failure
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    const OpValues values = round_values(op, draw_values(op, seed), dtype);
    Context cuda(on_cuda());  // one for all of a type: libraries take long to start
    for (const bool accumulate : {false, true}) {
      const auto note = [&](const Comparison& result) {
        if (!result)
          wrong += fmt::format("{}{} [{}, cuda, {}, seed {}]",
                               wrong.empty() ? "" : "\n",
                               result.text,
                               name_of(dtype),
                               accumulate ? "accumulate" : "overwrite",
                               seed);
        return Comparison{true, ""};
      };
      Context oracle(guarded());
      const OpRun expected = run_op(oracle, op, values, {.accumulate = accumulate, .seed = seed});
      const OpRunOptions options{.dtype = dtype, .accumulate = accumulate, .seed = seed};
      const OpRun got = run_op(cuda, op, values, options);
      (void)compare_runs(
          op, got, expected, [&](const std::string& what, const Tensor& a, const Tensor& b) {
            return note(within_units(op, what, a, b));
          });
      if (!accumulate) continue;
      (void)compare_runs(op,
                         run_op(cuda, op, values, options),
                         got,
                         [&](const std::string&, const Tensor& a, const Tensor& b) {
                           return note(same_bits(a, b));
                         });
    }
  }
  if (!wrong.empty()) return {false, wrong};
  return {true, "parity holds"};
}

bool testing_cuda() {
  const char* device = std::getenv("LEARN_TEST_DEVICE");
  return device != nullptr && std::string_view(device) == "cuda";
}

bool interpreted() { return std::getenv("LEARN_TEST_INTERPRETED") != nullptr; }

void test_op(const OpCase& op) {
  CAPTURE(op.name);
  if (testing_cuda()) {
    const Comparison result = check_cuda(op);
    CHECK_MESSAGE(result.equal, result.text);
    return;
  }
  for (const Comparison& result : {check_gradients(op), check_parity(op), check_determinism(op)})
    CHECK_MESSAGE(result.equal, result.text);
}

void test_large_op(const OpCase& op) {
  CAPTURE(op.name);
  if (testing_cuda()) {
    constexpr std::int64_t kMaxInterpreted = 1 << 16;
    if (interpreted() && op.inputs[0].shape.elements() > kMaxInterpreted) return;
    const Comparison result = check_cuda(op);
    CHECK_MESSAGE(result.equal, result.text);
    return;
  }
  for (const Comparison& result : {check_parity(op), check_determinism(op)})
    CHECK_MESSAGE(result.equal, result.text);
}

}  // namespace learn::test
