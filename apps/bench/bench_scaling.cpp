// Predicts how a training step scales to many cores: measures the tasks of its loops on one core,
// and lets them run on more in a model of the machine.
#include "apps/bench/program.h"
#include "apps/bench/scaling_model.h"
#include "apps/bench/workload.h"
#include "apps/experiment/experiment.h"
#include "framework/autograd/node.h"
#include "framework/autograd/ops.h"
#include "framework/autograd/tape.h"
#include "framework/core/seconds_since.h"
#include "framework/optim/sgd.h"
#include "framework/tensor/factory.h"
#include "framework/tensor/host_tensor.h"
#include "framework/terminal/text_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace learn;
using bench::MeasuredOperation;
using bench::PredictedTime;

namespace {

struct Options : bench::Workload {
  std::int64_t steps = 5;
  std::int64_t loops = 0;
  std::vector<std::string> cores{"2", "4", "8", "16", "32", "64"};
  bench::Machine machine;
};

OptionTable option_table(Options& o) {
  OptionTable table;
  table.group("Options");
  bench::declare_workload(table, o);
  table.number("steps", o.steps, kCount, "N", "measured steps; the shortest time of a task counts");
  table.number("loops",
               o.loops,
               kNotNegative,
               "N",
               "also list the N loops that lose most by imbalance on the last number of cores");
  table.list("cores", o.cores, ',', "N,...", "numbers of cores");
  table.group("Assumed machine");
  table.number("hand-over",
               o.machine.hand_over,
               kNotNegative,
               "US",
               "microseconds of each loop on several threads, apart from its tasks");
  table.number("per-thread", o.machine.per_thread, kNotNegative, "US", "more for each thread");
  table.number("core-bandwidth",
               o.machine.core_bandwidth,
               kPositive,
               "GB/S",
               "rate between one core and memory");
  table.number("bandwidth", o.machine.total_bandwidth, kPositive, "GB/S", "rate of all cores");
  return table;
}

double bytes_of(const Tensor& t) { return static_cast<double>(t.bytes()); }

/// Divides a step into operations. All loops between two notifications of the tape are part of the
/// operation that has ended (forward) or was announced (backward).
class Recorder final : public ForwardObserver, public BackwardObserver {
 public:
  explicit Recorder(ThreadPool& threads) : threads_(threads) {}

  void begin_step() {
    operations_.clear();
    values_.clear();
    loops_.clear();
    threads_.record(&loops_);
    begun_ = Clock::now();
  }
  /// Ends an operation. All loops and times since the last end are its own.
  void end(std::string name, double bytes) {
    MeasuredOperation operation{
        .name = std::move(name), .serial = seconds_since(begun_), .bytes = bytes, .loops = loops_};
    for (const std::vector<double>& loop : loops_)
      for (const double task : loop) operation.serial -= task;
    operations_.push_back(std::move(operation));
    loops_.clear();
    begun_ = Clock::now();
  }
  void end_step() { threads_.record(nullptr); }
  void begin_backward() { pending_ = {}; }
  void end_backward() {
    if (!pending_.name.empty()) end(pending_.name, pending_.bytes);
  }
  [[nodiscard]] const std::vector<MeasuredOperation>& operations() const { return operations_; }

  void forwarded(const nn::Module&, const Var&, const Var&) override {}
  void recorded(const Node& node, std::span<const Var> inputs, const Var& out) override {
    const double result = bytes_of(out.value());
    double operands = 0;
    for (const Var& in : inputs)
      if (in.defined()) operands += bytes_of(in.value());
    const std::string name = fmt::format("{} {}", node.name(), out.shape());
    // Backward reads the operands and the result's gradient, and writes the operands' gradients.
    values_[out.id()] = {name + " backward", result + 2 * operands};
    end(name, result + operands);
  }
  void reached(std::uint32_t value, std::string_view operation, Tensor& gradient) override {
    if (!pending_.name.empty()) end(pending_.name, pending_.bytes);
    const auto found = values_.find(value);
    pending_ = found != values_.end()
                   ? found->second
                   : Pending{fmt::format("{} backward", operation), bytes_of(gradient)};
  }

 private:
  using Clock = std::chrono::steady_clock;
  struct Pending {
    std::string name;
    double bytes = 0;
  };

  ThreadPool& threads_;
  std::vector<std::vector<double>> loops_;
  std::vector<MeasuredOperation> operations_;
  std::map<std::uint32_t, Pending> values_;
  Pending pending_;
  Clock::time_point begun_ = Clock::now();
};

/// Keeps the shortest time of each task and of each serial part.
void keep_shortest(std::vector<MeasuredOperation>& best,
                   const std::vector<MeasuredOperation>& step) {
  if (best.empty()) {
    best = step;
    return;
  }
  check<Error>(best.size() == step.size(), "two steps have different operations");
  for (std::size_t i = 0; i < step.size(); ++i) {
    MeasuredOperation& to = best[i];
    const MeasuredOperation& from = step[i];
    to.serial = std::min(to.serial, from.serial);
    check<Error>(
        to.loops.size() == from.loops.size(), "{}: two steps have different loops", to.name);
    for (std::size_t loop = 0; loop < to.loops.size(); ++loop)
      for (std::size_t task = 0; task < to.loops[loop].size(); ++task)
        to.loops[loop][task] = std::min(to.loops[loop][task], from.loops[loop].at(task));
  }
}

/// The operations of a step, each with the shortest times of its tasks.
std::vector<MeasuredOperation> measure(const Options& o) {
  Context ctx({.device = Device::cpu(), .threads = 1});
  const Shape image{o.image_size, o.image_size, 3};
  nn::Model model =
      ModelSection{.model = o.model, .width = o.width}.make({.classes = 10, .input = image});
  model.params->materialize(ctx);
  const auto optimizer = optim::sgd({.lr = 0.001, .momentum = 0.9})(*model.params);
  const Tensor x = uniform(
      ctx.persistent(), {o.batch, o.image_size, o.image_size, 3}, DType::f32, -2, 2, ctx.seed());
  std::vector<std::int64_t> classes(static_cast<std::size_t>(o.batch));
  for (std::size_t i = 0; i < classes.size(); ++i) classes[i] = static_cast<std::int64_t>(i % 10);
  const Tensor y = host_tensor<std::int64_t>({o.batch}, classes);
  Tape tape(ctx);
  Recorder recorder(ctx.threads());
  std::vector<MeasuredOperation> best;
  constexpr std::int64_t kWarmUp = 2;
  for (std::int64_t step = 0; step < kWarmUp + o.steps; ++step) {
    tape.reset();
    model.params->begin_gradients();
    tape.observe(&recorder);
    tape.observe_backward(&recorder);
    recorder.begin_step();
    const Var loss = ops::softmax_cross_entropy((*model.module)(tape.input(x)), y, 0);
    recorder.begin_backward();
    tape.backward(loss);
    recorder.end_backward();
    optimizer->step();
    // It reads weights, gradients and momentum, and writes the first and the last.
    recorder.end("update",
                 5.0 * sizeof(float) * static_cast<double>(model.params->parameter_count()));
    recorder.end_step();
    if (step >= kWarmUp) keep_shortest(best, recorder.operations());
  }
  return best;
}

std::vector<int> numbers_of(const std::vector<std::string>& words) {
  std::vector<int> out;
  for (const std::string& word : words) {
    const bool digits = !word.empty() && word.size() <= 4 &&
                        std::ranges::all_of(word, [](char c) { return c >= '0' && c <= '9'; });
    check<UsageError>(digits && std::stoi(word) >= 1,
                      "--cores: '{}' is not a number of cores, from 1 to 9999",
                      word);
    out.push_back(std::stoi(word));
  }
  return out;
}

/// All operations with one name.
struct Row {
  std::int64_t count = 0, loops = 0;
  std::size_t least_tasks = SIZE_MAX, most_tasks = 0;
  double bytes = 0;
  std::vector<double> seconds;  ///< on one core, then on each number of cores
};

void print_operations(const std::vector<MeasuredOperation>& step,
                      const std::vector<int>& cores,
                      const bench::Machine& machine) {
  std::map<std::string, Row> rows;
  for (const MeasuredOperation& operation : step) {
    Row& row = rows[operation.name];
    row.seconds.resize(cores.size());
    ++row.count;
    row.bytes += operation.bytes;
    for (const std::vector<double>& loop : operation.loops) {
      ++row.loops;
      row.least_tasks = std::min(row.least_tasks, loop.size());
      row.most_tasks = std::max(row.most_tasks, loop.size());
    }
    for (std::size_t i = 0; i < cores.size(); ++i)
      row.seconds[i] += bench::predicted(operation, cores[i], machine).sum();
  }
  std::vector<std::pair<std::string, Row>> sorted(rows.begin(), rows.end());
  std::ranges::sort(
      sorted, std::greater<>(), [](const auto& entry) { return entry.second.seconds.back(); });
  constexpr auto kRight = TextTable::Align::right;
  std::vector<TextTable::Column> columns{{"operation"},
                                         {"times", kRight},
                                         {"loops", kRight},
                                         {"tasks", kRight},
                                         {"MB", kRight},
                                         {fmt::format("ms on {}", cores.front()), kRight}};
  for (std::size_t i = 1; i < cores.size(); ++i)
    columns.push_back({fmt::format("faster on {}", cores[i]), kRight});
  TextTable table(columns);
  for (const auto& [name, row] : sorted) {
    std::vector<std::string> cells{
        name,
        std::to_string(row.count),
        std::to_string(row.loops),
        row.loops == 0 ? "-" : fmt::format("{}-{}", row.least_tasks, row.most_tasks),
        fmt::format("{:.1f}", row.bytes * 1e-6),
        fmt::format("{:.3f}", row.seconds.front() * 1e3)};
    for (std::size_t i = 1; i < cores.size(); ++i)
      cells.push_back(fmt::format("{:.1f}", row.seconds.front() / row.seconds[i]));
    table.row(cells);
  }
  fmt::print("{}\n", table.to_string());
}

/// Prints the loops whose tasks fit `cores` worst.
void print_loops(const std::vector<MeasuredOperation>& step, int cores, std::size_t count) {
  struct Loop {
    const MeasuredOperation* operation;
    std::size_t place;
    double sum, lost;
  };
  std::vector<Loop> loops;
  for (const MeasuredOperation& operation : step)
    for (std::size_t i = 0; i < operation.loops.size(); ++i) {
      const std::vector<double>& tasks = operation.loops[i];
      const double sum = std::accumulate(tasks.begin(), tasks.end(), 0.0);
      loops.push_back({&operation, i, sum, bench::makespan(tasks, cores) - sum / cores});
    }
  std::ranges::sort(loops, std::greater<>(), &Loop::lost);
  loops.resize(std::min(loops.size(), count));
  constexpr auto kRight = TextTable::Align::right;
  TextTable table({{"operation"},
                   {"loop", kRight},
                   {"tasks", kRight},
                   {"all, ms", kRight},
                   {"longest, ms", kRight},
                   {fmt::format("lost on {}, ms", cores), kRight}});
  for (const Loop& loop : loops) {
    const std::vector<double>& tasks = loop.operation->loops[loop.place];
    table.row({loop.operation->name,
               std::to_string(loop.place + 1),
               std::to_string(tasks.size()),
               fmt::format("{:.3f}", loop.sum * 1e3),
               fmt::format("{:.3f}", std::ranges::max(tasks) * 1e3),
               fmt::format("{:.3f}", loop.lost * 1e3)});
  }
  fmt::print("{}\n", table.to_string());
}

void print_step(const std::vector<MeasuredOperation>& step,
                const std::vector<int>& cores,
                const bench::Machine& machine) {
  constexpr auto kRight = TextTable::Align::right;
  TextTable table({{"cores", kRight},
                   {"step, ms", kRight},
                   {"faster", kRight},
                   {"work", kRight},
                   {"imbalance", kRight},
                   {"hand-over", kRight},
                   {"serial", kRight},
                   {"memory", kRight}});
  double first = 0;
  for (const int n : cores) {
    PredictedTime time;
    for (const MeasuredOperation& operation : step) time += bench::predicted(operation, n, machine);
    if (first == 0) first = time.sum();
    const auto ms = [](double seconds) { return fmt::format("{:.3f}", seconds * 1e3); };
    table.row({std::to_string(n),
               ms(time.sum()),
               fmt::format("{:.1f}", first / time.sum()),
               ms(time.work),
               ms(time.imbalance),
               ms(time.hand_over),
               ms(time.serial),
               ms(time.memory)});
  }
  fmt::print("{}", table.to_string());
}

constexpr const char* kAbout =
    "Predicts how a training step scales to many cores, from the tasks of its loops on one core: "
    "they are as many for any number of threads. A table of the operations, and one of the step "
    "with what is lost by imbalance, hand-over between threads, serial parts and memory.";

}  // namespace

int main(int argc, char** argv) {
  Options options;
  options.model = "resnet18";
  return bench::run_program(argc, argv, "bench_scaling", kAbout, option_table(options), [&] {
    std::vector<int> cores = numbers_of(options.cores);
    cores.insert(cores.begin(), 1);
    const std::vector<MeasuredOperation> step = measure(options);
    print_operations(step, cores, options.machine);
    if (options.loops > 0) print_loops(step, cores.back(), static_cast<std::size_t>(options.loops));
    print_step(step, cores, options.machine);
    return 0;
  });
}
