#include "tests/support/gradcheck.h"

#include "framework/core/random.h"
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

constexpr std::int64_t kCheckedPerLeaf = 150;
// Truncation falls with h^2 and cancellation grows with 1/h; in double both are near 1e-10 here.
constexpr double kStep = 1e-5;
// One-sided differences of a smooth function differ by about h f''; at a kink by the jump.
constexpr double kKinkJump = 1e-3;

double loss_at(Context& ctx, const OpCase& op, const OpValues& values, std::uint64_t seed) {
  const OpRun run = run_op(ctx, op, values, {.backward = false, .seed = seed});
  double sum = 0;
  for (std::int64_t i = 0; i < run.output.elements(); ++i)
    sum += cotangent_value(seed, i) * get(run.output, i);
  return sum;
}

struct Slope {
  double value;
  bool kink;
};

Slope numeric_slope(Context& ctx,
                    const OpCase& op,
                    OpValues& values,
                    std::size_t leaf,
                    std::size_t j,
                    double here,
                    std::uint64_t seed) {
  const double x = values[leaf][j];
  const double h = kStep * std::max(1.0, std::abs(x));
  values[leaf][j] = x + h;
  const double above = loss_at(ctx, op, values, seed);
  values[leaf][j] = x - h;
  const double below = loss_at(ctx, op, values, seed);
  values[leaf][j] = x;
  const double slope = (above - below) / (2 * h);
  const double jump = std::abs((above - here) / h - (here - below) / h);
  return {slope, jump > kKinkJump * std::max(1.0, std::abs(slope))};
}

double rms(const Tensor& t) {
  double sum = 0;
  for (std::int64_t i = 0; i < t.elements(); ++i) sum += get(t, i) * get(t, i);
  return std::sqrt(sum / static_cast<double>(std::max<std::int64_t>(1, t.elements())));
}

/// All elements of a small leaf, a random sample of a large one.
std::vector<std::int64_t> picked_elements(std::int64_t n, std::uint64_t seed) {
  std::vector<std::int64_t> picked;
  for (std::int64_t k = 0; k < std::min(n, kCheckedPerLeaf); ++k)
    picked.push_back(
        n <= kCheckedPerLeaf
            ? k
            : uniform_below(
                  random4(seed, RandomPurpose::test, 2000, static_cast<std::uint64_t>(k)).v[0],
                  static_cast<std::uint32_t>(n)));
  return picked;
}

Comparison check_leaf(Context& ctx,
                      const OpCase& op,
                      OpValues& values,
                      std::size_t leaf,
                      const OpRun& overwritten,
                      const OpRun& accumulated,
                      std::uint64_t seed) {
  const Tensor& first = overwritten.grads[leaf];
  const Tensor& second = accumulated.grads[leaf];
  const double here = loss_at(ctx, op, values, seed);
  const double scale = rms(first);
  const std::vector<std::int64_t> picked = picked_elements(first.elements(), seed);
  std::size_t kinks = 0;
  for (const std::int64_t j : picked) {
    const Slope numeric =
        numeric_slope(ctx, op, values, leaf, static_cast<std::size_t>(j), here, seed);
    if (op.inner_kinks && numeric.kink) {
      ++kinks;
      continue;
    }
    const double allowed = op.gradient_tolerance * std::max(std::abs(numeric.value), scale) +
                           1e-9 * (1 + std::abs(here));
    for (const auto& [mode, got] : {std::pair{"overwrite", get(first, j)},
                                    std::pair{"accumulate", get(second, j) - start_value(j)}})
      if (!(std::abs(got - numeric.value) <= allowed))  // also false for NaN
        return {false,
                fmt::format("{}: gradient of '{}' at {} ({}): backward gives {}, differences {} "
                            "(allowed {:.2g}, seed {})",
                            op.name,
                            op.inputs[leaf].name,
                            j,
                            mode,
                            got,
                            numeric.value,
                            allowed,
                            seed)};
  }
  if (10 * kinks > picked.size())
    return {false,
            fmt::format("{}: {} of {} elements are at kinks", op.name, kinks, picked.size())};
  return {true, "gradients agree"};
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
  Context ctx(guarded());
  OpValues values = draw_values(op, seed);
  const OpRun overwritten = run_op(ctx, op, values, {.seed = seed});
  const OpRun accumulated = run_op(ctx, op, values, {.accumulate = true, .seed = seed});
  for (std::size_t leaf = 0; leaf < op.inputs.size(); ++leaf) {
    if (op.inputs[leaf].role != OpInput::Role::gradient) continue;
    if (Comparison bad = check_leaf(ctx, op, values, leaf, overwritten, accumulated, seed); !bad)
      return bad;
  }
  return {true, "gradients agree"};
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
