// Times single operations on the CPU, forward and with gradients: one JSON object for each on
// stdout. apps/bench/compare_ops.py compares them with PyTorch's.
#include "apps/bench/program.h"
#include "framework/autograd/node.h"
#include "framework/autograd/ops.h"
#include "framework/autograd/tape.h"
#include "framework/core/error.h"
#include "framework/core/seconds_since.h"
#include "framework/tensor/factory.h"
#include "framework/tensor/host_tensor.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <map>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace learn;

namespace {

using Clock = std::chrono::steady_clock;
using Operands = std::vector<Var>;

double number_in(const std::string& word, std::string_view text) {
  double number = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), number);
  check<UsageError>(end.ec == std::errc() && end.ptr == text.data() + text.size(),
                    "'{}' in '{}' is not a number",
                    text,
                    word);
  return number;
}

/// "conv2d 8x56x56x96 96x3x3x1 pad=1 groups=96": the name of an operation, the shapes of its
/// operands, and its options.
struct Request {
  std::string text, operation;
  std::vector<Shape> shapes;
  std::map<std::string, double> options;

  explicit Request(std::string line) : text(std::move(line)) {
    std::istringstream words(text);
    words >> operation;
    for (std::string word; words >> word;) {
      if (const std::size_t equals = word.find('='); equals != std::string::npos) {
        options[word.substr(0, equals)] = number_in(word, word.substr(equals + 1));
        continue;
      }
      Shape shape;
      std::istringstream extents(word);
      for (std::string extent; std::getline(extents, extent, 'x');)
        shape.push_back(static_cast<std::int64_t>(number_in(word, extent)));
      shapes.push_back(shape);
    }
  }
  [[nodiscard]] double option(const std::string& name, double otherwise) const {
    const auto found = options.find(name);
    return found == options.end() ? otherwise : found->second;
  }
  [[nodiscard]] int whole(const std::string& name, int otherwise) const {
    return static_cast<int>(option(name, otherwise));
  }
};

struct Operation {
  std::size_t operands = 1;
  Var (*compute)(const Operands& in, const Request& request) = nullptr;
};

Conv2dOptions conv_options(const Request& r) {
  return Conv2dOptions::symmetric(r.whole("stride", 1), r.whole("pad", 0), r.whole("groups", 1));
}

/// Classes of the rows of logits, kept for the next call.
const Tensor& classes_for(const Var& logits) {
  static std::map<std::string, Tensor> all;
  Tensor& classes = all[fmt::format("{}", logits.shape())];
  if (classes.defined()) return classes;
  std::vector<std::int64_t> rows(static_cast<std::size_t>(logits.shape()[0]));
  for (std::size_t i = 0; i < rows.size(); ++i)
    rows[i] = static_cast<std::int64_t>(i) % logits.shape()[1];
  classes = host_tensor<std::int64_t>({logits.shape()[0]}, rows);
  return classes;
}

/// Parameters of a normalization, kept for the next call.
struct NormParameters {
  Arena arena{"parameters of a normalization", cpu_pages()};
  Tensor ones, zeros, mean, var;
};
NormParameters& norm_parameters(std::int64_t channels) {
  static std::map<std::int64_t, NormParameters> all;
  NormParameters& p = all[channels];
  if (!p.ones.defined()) {
    p.ones = full(p.arena, {channels}, DType::f32, 1);
    p.zeros = full(p.arena, {channels}, DType::f32, 0);
    p.mean = full(p.arena, {channels}, DType::f32, 0);
    p.var = full(p.arena, {channels}, DType::f32, 1);
  }
  return p;
}

/// Batch normalization with relu, and with gradients of its weights wherever x has one.
Var batch_norm(const Var& x) {
  NormParameters& p = norm_parameters(x.shape()[-1]);
  Tape& tape = x.tape();
  const bool grad = x.needs_grad();
  return ops::batch_norm(x,
                         tape.input(p.ones, grad),
                         tape.input(p.zeros, grad),
                         p.mean,
                         p.var,
                         {},
                         {.activation = ActivationKind::relu()},
                         ForwardMode::train);
}

/// Layer normalization, with gradients of its weights wherever x has one.
Var layer_norm(const Var& x) {
  NormParameters& p = norm_parameters(x.shape()[-1]);
  const bool grad = x.needs_grad();
  return ops::layer_norm(x, x.tape().input(p.ones, grad), x.tape().input(p.zeros, grad));
}

const std::map<std::string, Operation>& operations() {
  using In = const Operands&;
  using R = const Request&;
  static const std::map<std::string, Operation> all{
      {"abs", {1, [](In in, R) { return ops::abs(in[0]); }}},
      {"add", {2, [](In in, R) { return ops::add(in[0], in[1]); }}},
      {"add_bias", {2, [](In in, R) { return ops::add_bias(in[0], in[1]); }}},
      {"batch_norm", {1, [](In in, R) { return batch_norm(in[0]); }}},
      {"clamp", {1, [](In in, R) { return ops::clamp(in[0], 0.25, 0.75); }}},
      {"concat", {2, [](In in, R r) { return ops::concat(in, r.whole("axis", -1)); }}},
      {"conv2d", {2, [](In in, R r) { return ops::conv2d(in[0], in[1], {}, conv_options(r)); }}},
      {"cross_entropy",
       {1, [](In in, R) { return ops::softmax_cross_entropy(in[0], classes_for(in[0]), 0); }}},
      {"div", {2, [](In in, R) { return ops::div(in[0], in[1]); }}},
      {"exp", {1, [](In in, R) { return ops::exp(in[0]); }}},
      {"gelu", {1, [](In in, R) { return ops::gelu(in[0]); }}},
      {"layer_norm", {1, [](In in, R) { return layer_norm(in[0]); }}},
      {"linear", {2, [](In in, R) { return ops::linear(in[0], in[1], {}); }}},
      {"log", {1, [](In in, R) { return ops::log(in[0]); }}},
      {"log_softmax", {1, [](In in, R) { return ops::log_softmax(in[0]); }}},
      {"matmul", {2, [](In in, R) { return ops::matmul(in[0], in[1]); }}},
      {"max", {1, [](In in, R r) { return ops::max(in[0], {r.whole("axis", -1)}); }}},
      {"max_pool",
       {1, [](In in, R) { return ops::max_pool2d(in[0], {.window_h = 2, .window_w = 2}); }}},
      {"mean", {1, [](In in, R r) { return ops::mean(in[0], {r.whole("axis", -1)}); }}},
      {"mul", {2, [](In in, R) { return ops::mul(in[0], in[1]); }}},
      {"pow", {1, [](In in, R r) { return ops::pow(in[0], r.option("exponent", 2.5)); }}},
      {"relu", {1, [](In in, R) { return ops::relu(in[0]); }}},
      {"sigmoid", {1, [](In in, R) { return ops::sigmoid(in[0]); }}},
      {"silu", {1, [](In in, R) { return ops::silu(in[0]); }}},
      {"softmax", {1, [](In in, R) { return ops::softmax(in[0]); }}},
      {"sum", {1, [](In in, R r) { return ops::sum(in[0], {r.whole("axis", -1)}); }}},
      {"tanh", {1, [](In in, R) { return ops::tanh(in[0]); }}},
      {"to_nchw",
       {1,
        [](In in, R) {
          return ops::permute(in[0], {0, 3, 1, 2});
        }}},
  };
  return all;
}

/// Gives its operand a gradient, as one element that a backward pass starts from.
struct Given final : Node {
  Tensor gradient;
  explicit Given(Tensor of_operand) : gradient(std::move(of_operand)) {}
  [[nodiscard]] std::string_view name() const override { return "given"; }
  void backward(Tape& tape, const Tensor&) override { tape.pass_on(input(0), gradient); }
};

/// An operation on values that stay the same.
class Case {
 public:
  Case(Context& ctx, const Request& request, DType dtype)
      : request_(request), operation_(operation_of(request)), tape_(ctx) {
    std::uint64_t seed = 0;
    for (const Shape& shape : request.shapes)
      values_.push_back(uniform(ctx.persistent(), shape, dtype, 0.1, 1, ++seed));
    tape_.reset({.grad = false});
    const Var y = compute(0);
    gradient_ = uniform(ctx.persistent(), y.shape(), y.dtype(), 0.1, 1, ++seed);
    element_ = full(ctx.persistent(), {1}, y.dtype(), 1);
  }
  [[nodiscard]] std::size_t operands() const { return values_.size(); }

  /// The forward pass, and the gradients of the operands whose bits are set.
  void run(std::uint32_t wanted) {
    tape_.reset({.grad = wanted != 0});
    const Var y = compute(wanted);
    if (wanted == 0) return;
    tape_.backward(y.value().elements() == 1 ? y : tape_.record({y}, element_, Given(gradient_)));
  }

 private:
  [[nodiscard]] static const Operation& operation_of(const Request& request) {
    const auto found = operations().find(request.operation);
    if (found == operations().end()) {
      std::string known;
      for (const auto& [name, operation] : operations()) known += " " + name;
      fail<UsageError>("unknown operation '{}'; known are:{}", request.operation, known);
    }
    check<UsageError>(found->second.operands == request.shapes.size(),
                      "'{}' has {} shapes, but {} needs {}",
                      request.text,
                      request.shapes.size(),
                      request.operation,
                      found->second.operands);
    return found->second;
  }
  [[nodiscard]] Var compute(std::uint32_t wanted) {
    Operands in;
    for (std::size_t i = 0; i < values_.size(); ++i)
      in.push_back(tape_.input(values_[i], ((wanted >> i) & 1U) != 0));
    return operation_.compute(in, request_);
  }

  const Request& request_;
  const Operation& operation_;
  Tape tape_;
  std::vector<Tensor> values_;
  Tensor gradient_, element_;
};

/// Milliseconds of a call, in the median of blocks that last long enough to be timed.
template <class F>
double milliseconds(double seconds, F&& call) {
  constexpr double kBlock = 0.01;
  call();
  auto begin = Clock::now();
  call();
  const double once = seconds_since(begin);
  const auto calls = static_cast<std::int64_t>(std::ceil(kBlock / std::max(once, 1e-7)));
  std::vector<double> blocks;
  const auto start = Clock::now();
  while (blocks.size() < 5 || seconds_since(start) < seconds) {
    begin = Clock::now();
    for (std::int64_t i = 0; i < calls; ++i) call();
    blocks.push_back(seconds_since(begin) / static_cast<double>(calls));
  }
  std::ranges::sort(blocks);
  return blocks[blocks.size() / 2] * 1e3;
}

struct Options {
  std::vector<std::string> operations;
  std::int64_t threads = 1;
  DType dtype = DType::f32;
  double seconds = 0.2;
};

OptionTable option_table(Options& o) {
  OptionTable table;
  table.group("Options");
  table.list("ops",
             o.operations,
             ';',
             "OP SHAPE... [NAME=NUMBER...];...",
             "operations, such as 'softmax 4096x1000;conv2d 8x56x56x96 96x3x3x1 pad=1 groups=96'");
  table.number("threads", o.threads, {.low = 1, .high = 1024}, "N", "CPU threads");
  table.choice("precision",
               o.dtype,
               {{"fp32", DType::f32}, {"fp16", DType::f16}, {"bf16", DType::bf16}},
               "precision of the operands");
  table.number("seconds", o.seconds, {.low = 0, .high = 3600}, "S", "seconds for each time");
  return table;
}

nlohmann::ordered_json times_of(Context& ctx, const std::string& text, const Options& o) {
  const Request request(text);
  Case timed(ctx, request, o.dtype);
  nlohmann::ordered_json out{{"op", text}};
  const auto note = [&](const char* name, std::uint32_t wanted) {
    out[name] = milliseconds(o.seconds, [&] { timed.run(wanted); });
  };
  note("forward", 0);
  if (timed.operands() == 2) {
    note("first", 1);
    note("second", 2);
  } else {
    note("all", 1);
  }
  return out;
}

constexpr const char* kAbout =
    "Times operations on the CPU: forward, and forward with the gradients of all operands or, if "
    "there are two, of each.";

}  // namespace

int main(int argc, char** argv) {
  Options options;
  return bench::run_program(argc, argv, "bench_ops", kAbout, option_table(options), [&] {
    Context ctx({.device = Device::cpu(), .threads = static_cast<int>(options.threads)});
    for (const std::string& text : options.operations)
      fmt::print("{}\n", times_of(ctx, text, options).dump());
    return 0;
  });
}
