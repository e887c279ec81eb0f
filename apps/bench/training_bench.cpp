#include "apps/bench/training_bench.h"

#include "apps/experiment/experiment.h"
#include "apps/learn/training/joint_run.h"
#include "callbacks/cuda_graph.h"
#include "callbacks/data_parallel.h"
#include "framework/core/device.h"
#include "framework/kernels/common/padded_channels.h"
#include "framework/learner/learner.h"
#include "framework/runtime/cuda/runtime.h"
#include "framework/runtime/device_choice.h"
#include "framework/runtime/transfer.h"
#include "framework/tensor/factory.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <span>
#include <utility>

namespace learn::bench {
namespace {

double wall() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double thread_cpu() {
  timespec now{};
  (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

void wait_for(Context& ctx) {
  if constexpr (kHaveCuda)
    if (ctx.device().is_cuda()) ctx.cuda().synchronize();
}

constexpr std::int64_t kColours = 3;

/// Repeats the same random batch, or a share of one, in an endless pass. The batch is as a loader
/// makes it on its device, padded or not.
class OneBatch final : public BatchSource {
 public:
  OneBatch(Context& ctx,
           const Shape& image,
           std::int64_t samples,
           DType dtype,
           bool padded,
           const Share& share = {})
      : share_(share) {
    const std::int64_t size = share.computed(samples).count;
    if (share.ranks > 1) {
      batch_.whole = samples;
      batch_.first = share.computed(samples).first;
      batch_.spare = share.of(samples).count == 0;
    }
    Arena host("a batch", cpu_pages());
    batch_.padding = padded ? padded_half_channels(kColours) - kColours : 0;
    const Shape colours{size, image[0], image[1], kColours};
    const Tensor values = uniform(host, colours, DType::f32, -2, 2, ctx.seed());
    Tensor x = zeros(host, {size, image[0], image[1], kColours + batch_.padding}, dtype);
    for (std::int64_t pixel = 0; pixel < values.elements() / kColours; ++pixel)
      for (std::int64_t c = 0; c < kColours; ++c)
        set(x, pixel * x.shape()[3] + c, get(values, pixel * kColours + c));
    Tensor y(host, {size}, DType::i64);
    for (std::int64_t i = 0; i < size; ++i) set(y, i, static_cast<double>(i % 10));
    batch_.x = to_device(ctx, ctx.persistent(), x);
    batch_.y = to_device(ctx, ctx.persistent(), y);
  }
  [[nodiscard]] std::int64_t batches() const override { return 1 << 20; }
  [[nodiscard]] std::int64_t samples() const override { return batches() * batch_.samples(); }
  [[nodiscard]] bool set_share(const Share& share) override { return share == share_; }
  void begin(std::int64_t) override {}
  [[nodiscard]] bool next(Batch& batch) override {
    batch = batch_;
    return true;
  }

 private:
  Share share_;
  Batch batch_;
};

/// Ends the training when all measurements are done. A stretch is a number of steps that starts and
/// ends with an idle device. The stretches are the warm-up, one that estimates the duration of a
/// step, several short ones for the host's time (in a long one the device's queue fills up and the
/// host waits), and the windows.
class Stopwatch final : public Callback {
 public:
  Stopwatch(const StepOptions& options, StepFigures& figures)
      : options_(options), figures_(figures), left_(std::max<std::int64_t>(1, options.warm_up)) {}
  [[nodiscard]] std::string_view name() const override { return "stopwatch"; }
  [[nodiscard]] int order() const override { return order::kTracker; }
  void batch_end(Learner& learn) override {
    if (--left_ > 0) return;
    const double enqueued = wall();
    const double cpu = thread_cpu() - cpu_begin_;
    wait_for(learn.context());
    note(enqueued - begin_, cpu, wall() - begin_);
    ++stretch_;
    left_ = steps_ = next_length();
    if (left_ == 0) learn.cancel(Scope::train);
    begin_ = wall();
    cpu_begin_ = thread_cpu();
  }

 private:
  static constexpr std::int64_t kTrialSteps = 3;
  static constexpr std::int64_t kHostStretches = 9;
  static constexpr std::int64_t kHostSteps = 2;

  void note(double enqueued, double cpu, double whole) {
    const double steps = static_cast<double>(steps_);
    if (stretch_ == 1)
      trial_ = whole / steps;
    else if (stretch_ > 1 + kHostStretches) {
      figures_.step.push_back(whole / steps);
      figures_.steps += steps_;
    } else if (stretch_ > 1) {
      host_cpu_.push_back(cpu / steps);
      host_wall_.push_back(enqueued / steps);
    }
    if (stretch_ != 1 + kHostStretches) return;
    figures_.host_cpu = middle(host_cpu_);
    figures_.host_wall = middle(host_wall_);
  }
  [[nodiscard]] std::int64_t next_length() const {
    if (stretch_ == 1) return kTrialSteps;
    if (stretch_ <= 1 + kHostStretches) return kHostSteps;
    if (stretch_ > 1 + kHostStretches + options_.windows) return 0;
    const double window = options_.seconds / static_cast<double>(options_.windows);
    return std::max<std::int64_t>(1, std::llround(std::ceil(window / trial_)));
  }
  [[nodiscard]] static double middle(std::vector<double>& values) {
    std::ranges::sort(values);
    return values[values.size() / 2];
  }

  const StepOptions& options_;
  StepFigures& figures_;
  std::int64_t stretch_ = 0;
  std::int64_t left_;
  std::int64_t steps_ = 0;  // of the current stretch
  double trial_ = 0;
  double begin_ = 0;
  double cpu_begin_ = 0;
  std::vector<double> host_cpu_, host_wall_;
};

/// Measures the mean times of the phases, where the host does the work itself.
class PhaseClock final : public Callback {
 public:
  [[nodiscard]] std::string_view name() const override { return "phase_clock"; }
  void batch_begin(Learner&) override { at_ = wall(); }
  void backward_begin(Learner&) override { sums_.forward += lap(); }
  void backward_end(Learner&) override { sums_.backward += lap(); }
  void batch_end(Learner&) override {
    sums_.update += lap();
    ++steps_;
  }
  [[nodiscard]] Phases mean() const {
    return {sums_.forward / steps_, sums_.backward / steps_, sums_.update / steps_};
  }

 private:
  double lap() {
    const double before = at_;
    return (at_ = wall()) - before;
  }
  double at_ = 0;
  double steps_ = 0;
  Phases sums_;
};

ContextOptions context_options(const StepOptions& options, int local_rank = 0) {
  const Device device = choose_device(options.device, local_rank);
  if (options.precision == "tf32" && device.is_cpu())
    fail<UsageError>("--precision tf32 needs tensor cores; a CPU does not support it");
  if (options.graph && device.is_cpu())
    fail<UsageError>("--graph makes a CUDA graph; this is the CPU");
  return {.device = device,
          .threads = static_cast<int>(options.threads),
          .winograd = options.winograd,
          .cuda = {.tf32 = options.precision == "tf32", .tune = options.tune}};
}

/// Throws Error if the last fit replayed fewer steps than these. Null: nothing was to be replayed.
void check_replays(const callbacks::CudaGraph* graph, std::int64_t steps) {
  if (graph != nullptr && graph->counts().replayed < steps)
    fail<Error>("the step was not replayed as a graph; the log says why");
}

/// Measures steps of fits that it ends. The first ones of a fit do not count: one, or on a GPU
/// those before a step is replayed. On a GPU, which runs asynchronously, all steps of a fit are one
/// measurement, which has an idle device at both ends.
class Turns final : public Callback {
 public:
  [[nodiscard]] std::string_view name() const override { return "turns"; }
  [[nodiscard]] int order() const override { return order::kTracker; }
  void batch_end(Learner& learn) override {
    const bool last = step_ == lead_ + steps_ - 1;
    if (on_gpu_ && (step_ == lead_ - 1 || last)) wait_for(learn.context());
    const double now = wall();
    if (!on_gpu_ && step_ >= lead_) seconds_.push_back(now - last_);
    if (on_gpu_ && last) seconds_.push_back((now - last_) / static_cast<double>(steps_));
    if (!on_gpu_ || step_ == lead_ - 1) last_ = now;
    if (last) learn.cancel(Scope::train);
    ++step_;
  }
  /// Makes and measures this number of steps, and others before them.
  void run(Learner& learn, std::int64_t steps) {
    on_gpu_ = learn.context().device().is_cuda();
    lead_ = on_gpu_ ? GraphStep::kWarmUp + 2 : 1;
    step_ = 0;
    steps_ = steps;
    learn.fit(1, 0.001);
    check_replays(learn.find<callbacks::CudaGraph>(), steps);
  }
  /// Returns the number of steps before those that count, in the last fit.
  [[nodiscard]] std::int64_t lead() const noexcept { return lead_; }
  /// Returns the measurements since the last call, in the order of length.
  [[nodiscard]] std::vector<double> take() {
    std::ranges::sort(seconds_);
    return std::exchange(seconds_, {});
  }

 private:
  bool on_gpu_ = false;
  std::int64_t lead_ = 1;
  std::int64_t step_ = 0;
  std::int64_t steps_ = 0;
  double last_ = 0;
  std::vector<double> seconds_;
};

Model model_of(const StepOptions& options) {
  return ModelSection{.model = options.model, .width = options.width}.make(
      {.classes = 10, .input = {options.image_size, options.image_size, kColours}});
}

bool is_padded(const Context& ctx, const StepOptions& options, const Model& model) {
  return model.takes_padding && ctx.device().is_cuda() &&
         is_half(PrecisionSection{.precision = options.precision}.dtype());
}

/// A training of the share of one rank, with the other ranks or without.
struct RankTraining {
  RankTraining(Context& ctx, const StepOptions& options, Communicator& ranks, bool together)
      : model(model_of(options)),
        source(ctx,
               model.input,
               together ? options.batch : share_of(ranks).computed(options.batch).count,
               PrecisionSection{.precision = options.precision}.dtype(),
               is_padded(ctx, options, model),
               together ? share_of(ranks) : Share{}),
        learn(ctx, std::move(model), source, {.report = Report::off}) {
    PrecisionSection{.precision = options.precision}.prepare(learn, false);
    if (options.graph) learn.add<callbacks::CudaGraph>();
    if (together)
      learn.add<callbacks::DataParallel>(ranks,
                                         callbacks::DataParallelOptions{.bucket_mb = options.bucket,
                                                                        .wire = options.wire,
                                                                        .overlap = options.overlap,
                                                                        .verify = 0});
    turns = &learn.add<Turns>();
  }
  static Share share_of(const Communicator& ranks) {
    return {.rank = ranks.place().rank, .ranks = ranks.place().ranks};
  }

  Model model;  // until the learner has it
  OneBatch source;
  Learner learn;
  Turns* turns = nullptr;
};

/// The largest value of a rank. Waits for all ranks.
double largest(double mine, Communicator& ranks) {
  std::vector<double> all(static_cast<std::size_t>(ranks.place().ranks));
  ranks.gather(std::as_bytes(std::span(&mine, 1)),
               std::vector<std::size_t>(all.size(), sizeof mine),
               std::as_writable_bytes(std::span(all)));
  return *std::ranges::max_element(all);
}

}  // namespace

RanksFigures measure_ranks(const StepOptions& options, Communicator& ranks) {
  ranks.set_purpose("the measurement of steps");
  StepOptions own = options;
  if (own.threads == 0) own.threads = cli::threads_of_rank(ranks);
  Context ctx(context_options(own, ranks.place().local_rank));
  RanksFigures figures{.threads = ctx.threads().threads()};
  RankTraining joint(ctx, options, ranks, true);
  RankTraining apart(ctx, options, ranks, false);
  joint.turns->run(joint.learn, options.warm_up);
  if (options.ranks_apart) apart.turns->run(apart.learn, options.warm_up);
  (void)apart.turns->take();
  const std::vector<double> warm = joint.turns->take();
  const double window = options.seconds / static_cast<double>(options.windows);
  const auto steps =
      static_cast<std::int64_t>(std::ceil(window / largest(warm[warm.size() / 2], ranks)));
  const Exchange& exchange = *joint.learn.find<callbacks::DataParallel>()->exchange();
  const ExchangeCosts before = exchange.costs();
  for (std::int64_t i = 0; i < options.windows; ++i) {
    joint.turns->run(joint.learn, steps);
    if (options.ranks_apart) apart.turns->run(apart.learn, steps);
    ranks.set_purpose("the measurement of steps");
    (void)largest(0, ranks);
  }
  const ExchangeCosts& costs = exchange.costs();
  // A replayed step makes the ranks' agreement, and no calls for its sums.
  const auto batches = static_cast<double>(options.windows * (joint.turns->lead() + steps));
  const auto updates = static_cast<double>(costs.updates - before.updates);
  figures.steps = options.windows * steps;
  figures.agreeing = (costs.agreeing - before.agreeing) / batches;
  figures.summing = (costs.summing - before.summing) / updates;
  figures.sent = static_cast<double>(costs.sent - before.sent) / updates;
  figures.together = joint.turns->take();
  if (!options.ranks_apart) return figures;
  const std::vector<double> alone = apart.turns->take();
  figures.apart_best = largest(alone.front(), ranks);
  figures.apart_median = largest(alone[alone.size() / 2], ranks);
  return figures;
}

StepFigures measure_steps(const StepOptions& options) {
  StepFigures figures;
  Context ctx(context_options(options));
  const std::size_t before = ctx.device_bytes_used();
  const PrecisionSection precision{.precision = options.precision};
  Model model = model_of(options);
  OneBatch source(
      ctx, model.input, options.batch, precision.dtype(), is_padded(ctx, options, model));
  Learner learn(ctx, std::move(model), source, {.report = Report::off});
  precision.prepare(learn, false);
  if (options.one_rank) learn.add<callbacks::DataParallel>();
  const PhaseClock* phases = ctx.device().is_cpu() ? &learn.add<PhaseClock>() : nullptr;
  const callbacks::CudaGraph* graph = options.graph ? &learn.add<callbacks::CudaGraph>() : nullptr;
  learn.add<Stopwatch>(options, figures);
  learn.fit(1, 0.001);
  check_replays(graph, figures.steps);
  if (graph != nullptr) figures.operations = graph->counts().operations;
  figures.threads = ctx.threads().threads();
  figures.persistent = ctx.persistent().stats().peak;
  // A graph has separate memory.
  figures.activations = graph != nullptr ? graph->counts().memory : ctx.step().stats().peak;
  figures.device_bytes = ctx.device_bytes_used() - before;
  if (phases != nullptr) figures.phases = phases->mean();
  return figures;
}

}  // namespace learn::bench
