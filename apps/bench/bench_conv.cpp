// Times every distinct convolution of the three nets: milliseconds and GFLOP/s of the forward pass
// and both gradients. FLOPs follow the plain definition, so Winograd may exceed the machine's peak.
#include "apps/bench/program.h"
#include "framework/kernels/conv/conv.h"
#include "framework/tensor/factory.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <string>
#include <vector>

using namespace learn;

namespace {

struct Layer {
  const char* net;
  const char* name;
  std::int64_t c, map, k, window, stride;
  int count;  // number of occurrences in the net
};

const std::vector<Layer> kLayers = {
    {"darknet", "stem", 3, 32, 16, 3, 1, 1},      {"darknet", "g0", 16, 32, 32, 3, 2, 1},
    {"darknet", "g0.1x1", 32, 16, 16, 1, 1, 1},   {"darknet", "g0.3x3", 16, 16, 32, 3, 1, 1},
    {"darknet", "g1", 32, 16, 64, 3, 1, 1},       {"darknet", "g1.1x1", 64, 16, 32, 1, 1, 2},
    {"darknet", "g1.3x3", 32, 16, 64, 3, 1, 2},   {"darknet", "g2", 64, 16, 128, 3, 2, 1},
    {"darknet", "g2.1x1", 128, 8, 64, 1, 1, 2},   {"darknet", "g2.3x3", 64, 8, 128, 3, 1, 2},
    {"darknet", "g3", 128, 8, 256, 3, 2, 1},      {"darknet", "g3.1x1", 256, 4, 128, 1, 1, 2},
    {"darknet", "g3.3x3", 128, 4, 256, 3, 1, 2},  {"darknet", "g4", 256, 4, 512, 3, 2, 1},
    {"darknet", "g4.1x1", 512, 2, 256, 1, 1, 2},  {"darknet", "g4.3x3", 256, 2, 512, 3, 1, 2},
    {"resnet9", "prep", 3, 32, 64, 3, 1, 1},      {"resnet9", "l1", 64, 32, 128, 3, 1, 1},
    {"resnet9", "res1", 128, 16, 128, 3, 1, 2},   {"resnet9", "l2", 128, 16, 256, 3, 1, 1},
    {"resnet9", "l3", 256, 8, 512, 3, 1, 1},      {"resnet9", "res3", 512, 4, 512, 3, 1, 2},
    {"resnet18", "conv1", 3, 32, 64, 3, 1, 1},    {"resnet18", "l1", 64, 32, 64, 3, 1, 4},
    {"resnet18", "l2.0.1", 64, 32, 128, 3, 2, 1}, {"resnet18", "l2.sc", 64, 32, 128, 1, 2, 1},
    {"resnet18", "l2", 128, 16, 128, 3, 1, 3},    {"resnet18", "l3.0.1", 128, 16, 256, 3, 2, 1},
    {"resnet18", "l3.sc", 128, 16, 256, 1, 2, 1}, {"resnet18", "l3", 256, 8, 256, 3, 1, 3},
    {"resnet18", "l4.0.1", 256, 8, 512, 3, 2, 1}, {"resnet18", "l4.sc", 256, 8, 512, 1, 2, 1},
    {"resnet18", "l4", 512, 4, 512, 3, 1, 3},
};

/// Returns the median of several runs that take about a twentieth of a second in total.
template <class F>
double milliseconds(F&& run) {
  using Clock = std::chrono::steady_clock;
  const auto once = [&] {
    const auto start = Clock::now();
    run();
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  };
  once();
  const double first = once();
  std::vector<double> times(
      static_cast<std::size_t>(std::clamp(60 / std::max(first, 1e-3), 5.0, 200.0)));
  for (double& t : times) t = once();
  std::nth_element(
      times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
  return times[times.size() / 2];
}

struct Options {
  std::int64_t threads = 0;
  bool winograd = true;
  std::int64_t batch = 64;
  std::string net = "all";
  DType dtype = DType::f32;
};

OptionTable option_table(Options& o) {
  OptionTable table;
  table.group("Options");
  declare_threads(table, o.threads);
  declare_winograd(table, o.winograd);
  table.number("batch", o.batch, {.low = 1, .high = 65536}, "N", "images per step");
  table.choice("net", o.net, {"all", "darknet", "resnet9", "resnet18"}, "net to measure");
  table.choice("dtype",
               o.dtype,
               {{"f32", DType::f32}, {"f16", DType::f16}, {"bf16", DType::bf16}},
               "type of activations and weights");
  return table;
}

struct Times {
  double forward = 0, data = 0, weight = 0;  ///< milliseconds; 0: not needed
};

Times time_layer(Context& ctx, const Layer& l, const Options& o) {
  const Conv2dOptions options = Conv2dOptions::symmetric(l.stride, l.window / 2);
  const Tensor x = uniform(ctx.persistent(), {o.batch, l.map, l.map, l.c}, o.dtype, -1, 1, 1);
  const Tensor w = uniform(ctx.persistent(), {l.k, l.window, l.window, l.c}, o.dtype, -1, 1, 2);
  const ConvGeometry g = kernels::conv2d_geometry(x.shape(), w.shape(), options);
  Tensor y(ctx.persistent(), {o.batch, g.p, g.q, g.k}, o.dtype);
  Tensor dx(ctx.persistent(), x.shape(), o.dtype);
  Tensor dw(ctx.persistent(), w.shape(), o.dtype);
  Times times;
  times.forward = milliseconds([&] { kernels::conv2d_forward(ctx, x, w, {}, y, options); });
  if (l.c != 3)
    times.data = milliseconds(
        [&] { kernels::conv2d_backward_data(ctx, y, w, dx, options, GradMode::overwrite); });
  times.weight = milliseconds(
      [&] { kernels::conv2d_backward_weight(ctx, x, y, dw, options, GradMode::overwrite); });
  return times;
}

/// Returns the FLOPs of the plain definition.
double flops_of(const Layer& l, std::int64_t batch) {
  const std::int64_t out = l.map / l.stride;
  return 2.0 * static_cast<double>(batch * out * out * l.k * l.window * l.window * l.c);
}

void print_row(const Layer& l, const Times& t, double flops) {
  const auto rate = [&](double ms) { return ms == 0 ? 0 : flops / ms / 1e6; };
  fmt::print(
      "{:<9} {:<7} {:>4} {:>3} {:>4} {} {} x{:<2} {:>10.3f} {:>6.0f} {:>10.3f} {:>6.0f} "
      "{:>10.3f} {:>6.0f}\n",
      l.net,
      l.name,
      l.c,
      l.map,
      l.k,
      l.window,
      l.stride,
      l.count,
      t.forward,
      rate(t.forward),
      t.data,
      rate(t.data),
      t.weight,
      rate(t.weight));
}

int run(const Options& o) {
  Context ctx(
      {.device = Device::cpu(), .threads = static_cast<int>(o.threads), .winograd = o.winograd});
  fmt::print(
      "{} threads, batch {}, {}\n{:<9} {:<7} {:>4} {:>3} {:>4} k s   n {:>17} {:>17} {:>17}\n",
      ctx.threads().threads(),
      o.batch,
      name_of(o.dtype),
      "net",
      "layer",
      "C",
      "map",
      "K",
      "forward ms GF/s",
      "data ms GF/s",
      "weight ms GF/s");
  std::map<std::string, double> totals;
  for (const Layer& l : kLayers) {
    if (o.net != "all" && o.net != l.net) continue;
    const Times times = time_layer(ctx, l, o);
    print_row(l, times, flops_of(l, o.batch));
    totals[l.net] += l.count * (times.forward + times.data + times.weight);
  }
  for (const auto& [net, ms] : totals)
    fmt::print("{}: {:.1f} ms of convolution per step, {:.0f} images/s\n",
               net,
               ms,
               static_cast<double>(o.batch) / ms * 1e3);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  return bench::run_program(argc,
                            argv,
                            "bench_conv",
                            "Measures the time of every distinct convolution of the three nets",
                            option_table(options),
                            [&] { return run(options); });
}
