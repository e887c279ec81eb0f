#include "framework/autograd/gradcheck.h"

#include "framework/core/random.h"
#include "framework/tensor/factory.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <utility>

namespace learn {
namespace {

// One-sided differences of a smooth function differ by about h f''; at a kink by the jump.
constexpr double kKinkJump = 1e-3;
constexpr std::size_t kShown = 8;  // of the elements that are wrong

double drawn(std::uint64_t seed, std::uint64_t stream, std::int64_t i) {
  const Random4 r = random4(seed, RandomPurpose::test, stream, static_cast<std::uint64_t>(i));
  return static_cast<double>(uniform01(r.v[0]));
}
/// Weight of an element of the output in the sum whose gradients are compared.
double weight_of(std::uint64_t seed, std::int64_t i) { return 2 * drawn(seed, 1000, i) - 1; }
/// Initial value of a gradient that is added to.
double start_of(std::int64_t i) { return 2 * drawn(1, 1001, i) - 1; }

/// The weighted sum, by plain loops.
struct WeightedSumNode final : Node {
  std::uint64_t seed;
  explicit WeightedSumNode(std::uint64_t s) : seed(s) {}
  std::string_view name() const override { return "gradient_check"; }
  void backward(Tape& tape, const Tensor& dy) override {
    tape.accumulate(input(0), [&](Tensor& dx, GradMode mode) {
      for (std::int64_t i = 0; i < dx.elements(); ++i)
        set(dx,
            i,
            (mode == GradMode::accumulate ? get(dx, i) : 0) + weight_of(seed, i) * get(dy, 0));
    });
  }
};

enum class Backward : std::uint8_t { none, overwrite, accumulate };

class Checker {
 public:
  Checker(const CheckedFunction& f,
          const std::vector<GradientInput>& inputs,
          const GradientCheckOptions& options)
      : f_(f),
        inputs_(inputs),
        options_(options),
        ctx_({.device = Device::cpu(), .threads = 1, .arena = {.guard = true, .poison = true}}) {
    for (const GradientInput& input : inputs) {
      check(static_cast<std::int64_t>(input.values.size()) == input.shape.elements(),
            "check_gradients: '{}' of shape {} got {} values",
            input.name,
            input.shape,
            input.values.size());
      values_.push_back(input.values);
    }
  }

  GradientReport run() {
    GradientReport report;
    const std::vector<Tensor> overwritten = gradients(Backward::overwrite);
    const std::vector<Tensor> accumulated = gradients(Backward::accumulate);
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      if (is_checked(i)) check_input(i, overwritten[i], accumulated[i], report);
    check<UsageError>(report.elements > 0 || report.kinks > 0,
                      "check_gradients: none of the inputs is to be checked, or they are empty");
    return report;
  }

 private:
  [[nodiscard]] bool is_checked(std::size_t i) const {
    return inputs_[i].checked && inputs_[i].dtype == DType::f64;
  }

  /// Returns the weighted sum of the output, and the gradients if requested.
  double compute(Backward backward, std::vector<Tensor>& grads) {
    Tape tape(ctx_, {.mode = options_.mode, .grad = backward != Backward::none, .batch = 3});
    std::deque<ParamSlot> slots(inputs_.size());  // the tape keeps their addresses
    std::vector<Var> on_tape;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const Tensor value = from_values(ctx_.step(), inputs_[i].shape, values_[i], inputs_[i].dtype);
      on_tape.push_back(is_checked(i) ? tape.param(slot(slots[i], i, value, backward))
                                      : tape.input(value));
    }
    const Var y = f_(tape, on_tape);
    check<DTypeError>(y.dtype() == DType::f64,
                      "check_gradients: the operation returns {} for f64 inputs, which is too "
                      "inexact for finite differences",
                      y.dtype());
    double sum = 0;
    for (std::int64_t i = 0; i < y.value().elements(); ++i)
      sum += weight_of(options_.seed, i) * get(y.value(), i);
    if (backward == Backward::none) return sum;
    const Tensor loss = full(ctx_.step(), {}, DType::f64, sum);
    tape.backward(tape.record({y}, loss, WeightedSumNode(options_.seed)));
    for (const ParamSlot& one : slots) grads.push_back(one.grad);
    return sum;
  }

  ParamSlot& slot(ParamSlot& made, std::size_t i, const Tensor& value, Backward backward) {
    made.name = inputs_[i].name;
    made.value = value;
    made.grad =
        full(ctx_.step(), value.shape(), DType::f64, std::numeric_limits<double>::quiet_NaN());
    if (backward != Backward::accumulate) return made;
    for (std::int64_t k = 0; k < made.grad.elements(); ++k) set(made.grad, k, start_of(k));
    made.adopt_grad();
    return made;
  }

  std::vector<Tensor> gradients(Backward backward) {
    std::vector<Tensor> grads;
    here_ = compute(backward, grads);
    return grads;
  }

  double moved(std::size_t input, std::size_t element, double to) {
    std::vector<Tensor> none;
    const double from = std::exchange(values_[input][element], to);
    const double sum = compute(Backward::none, none);
    values_[input][element] = from;
    return sum;
  }

  void check_input(std::size_t i,
                   const Tensor& overwritten,
                   const Tensor& accumulated,
                   GradientReport& report) {
    const std::int64_t n = overwritten.elements();
    double squares = 0;
    for (std::int64_t k = 0; k < n; ++k) squares += get(overwritten, k) * get(overwritten, k);
    const double scale = std::sqrt(squares / static_cast<double>(std::max<std::int64_t>(1, n)));
    const std::int64_t tried = std::min(n, options_.elements);
    std::int64_t kinks = 0;
    for (std::int64_t k = 0; k < tried; ++k) {
      const std::int64_t at =
          n <= options_.elements
              ? k
              : std::min(n - 1,
                         static_cast<std::int64_t>(drawn(options_.seed, 2000, k) *
                                                   static_cast<double>(n)));
      const double x = values_[i][static_cast<std::size_t>(at)];
      const double h = options_.step * std::max(1.0, std::abs(x));
      const double above = moved(i, static_cast<std::size_t>(at), x + h);
      const double below = moved(i, static_cast<std::size_t>(at), x - h);
      const double slope = (above - below) / (2 * h);
      const double jump = std::abs((above - here_) / h - (here_ - below) / h);
      if (options_.skip_kinks && jump > kKinkJump * std::max(1.0, std::abs(slope))) {
        ++kinks;
        continue;
      }
      ++report.elements;
      const double allowed = options_.tolerance * std::max(std::abs(slope), std::abs(scale)) +
                             1e-9 * (1 + std::abs(here_));
      compare(i, at, false, get(overwritten, at), slope, allowed, report);
      compare(i, at, true, get(accumulated, at) - start_of(at), slope, allowed, report);
    }
    report.kinks += kinks;
    report.too_many_kinks = report.too_many_kinks || 10 * kinks > tried;
  }

  void compare(std::size_t i,
               std::int64_t element,
               bool accumulated,
               double analytic,
               double numeric,
               double allowed,
               GradientReport& report) const {
    if (std::abs(analytic - numeric) <= allowed) return;  // false for NaN
    const Shape& shape = inputs_[i].shape;
    std::vector<std::int64_t> at(static_cast<std::size_t>(shape.rank()));
    std::int64_t rest = element;
    for (int d = shape.rank() - 1; d >= 0; rest /= shape[d--])
      at[static_cast<std::size_t>(d)] = rest % shape[d];
    report.wrong.push_back({.input = inputs_[i].name,
                            .element = element,
                            .at = std::move(at),
                            .accumulated = accumulated,
                            .analytic = analytic,
                            .numeric = numeric,
                            .allowed = allowed});
  }

  const CheckedFunction& f_;
  const std::vector<GradientInput>& inputs_;
  const GradientCheckOptions& options_;
  Context ctx_;
  std::vector<std::vector<double>> values_;
  double here_ = 0;  // the sum at the given values
};

}  // namespace

std::string GradientReport::text() const {
  std::string lines;
  for (const GradientMismatch& one : wrong) {
    if (&one - wrong.data() >= static_cast<std::ptrdiff_t>(kShown)) break;
    std::string at;
    for (const std::int64_t i : one.at) at += fmt::format("{}{}", at.empty() ? "" : ",", i);
    lines += fmt::format(
        "gradient of '{}' at ({}), {}: backward gives {:.10g}, differences {:.10g} (allowed "
        "{:.2g})\n",
        one.input,
        at,
        one.accumulated ? "accumulated" : "overwritten",
        one.analytic,
        one.numeric,
        one.allowed);
  }
  if (wrong.size() > kShown) lines += fmt::format("... and {} more\n", wrong.size() - kShown);
  if (too_many_kinks)
    lines += fmt::format("{} of {} elements are at kinks\n", kinks, kinks + elements);
  if (!lines.empty()) return lines;
  return fmt::format("gradients agree at {} elements\n", elements);
}

GradientReport check_gradients(const CheckedFunction& f,
                               const std::vector<GradientInput>& inputs,
                               const GradientCheckOptions& options) {
  return Checker(f, inputs, options).run();
}

}  // namespace learn
