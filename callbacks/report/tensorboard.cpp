#include "callbacks/report/tensorboard.h"

#include "callbacks/registry.h"
#include "callbacks/report/tensorboard_values.h"
#include "framework/core/log.h"
#include "framework/learner/learner.h"
#include "framework/tensorboard/event_folder.h"

#include <utility>

namespace learn::callbacks {
namespace {

namespace tb = tensorboard;

/// Limits on points that are collected in the middle of an epoch before they are written: their
/// number, and the time since the last write.
constexpr std::size_t kPoints = 512;
constexpr std::chrono::seconds kPatience{10};

/// Returns whether a source declares its samples as images of three colours.
bool has_images(const BatchSource& source) {
  const Shape shape = source.sample_shape();
  return shape.rank() == 3 && shape[-1] == 3;
}

}  // namespace

TensorBoard::TensorBoard(TensorBoardOptions options) : options_(std::move(options)) {
  check<UsageError>(
      options_.every >= 0 && options_.histograms >= 0 && options_.images >= 0,
      "tensorboard: every={}, histograms={}, images={}: they must not be negative; 0 writes none",
      options_.every,
      options_.histograms,
      options_.images);
}

std::vector<std::string> TensorBoard::claims() const {
  return {fmt::format("write events into '{}'", options_.path.lexically_normal().string())};
}

void TensorBoard::visit_state(StateVisitor& visitor) {
  // A state saved now may become all that is left of this training, so its past must be on the
  // disk.
  if (!visitor.loading()) return write_batches();
  loaded_ = true;
}

void TensorBoard::train_begin(Learner& learn) {
  Recorder& recorder = recorder_of(learn, name());
  draws_ = options_.images > 0 && options_.draw && has_images(learn.train_source());
  const std::int64_t batch = learn.progress().batch_clock;
  const bool loaded = std::exchange(loaded_, false);
  if (file_ && (!loaded || batch == ended_at_)) return;
  if (options_.images > 0 && !draws_)
    log::info("[tensorboard] no images: {}",
              options_.draw
                  ? "the batches have no three colour channels"
                  : "images need a function that draws samples (TensorBoardOptions::draw)");
  // A sandbox before the first fit has loaded the state of a training that has not started.
  if (!file_ && (!loaded || batch == 0)) tb::set_former_events_aside(options_.path);
  file_.emplace(options_.path, batch + 1);
  if (!options_.config.empty())
    file_->write(std::vector{tb::Event{
        batch + 1, tb::wall_time_now(), {{"config", tb::Markdown{code_block(options_.config)}}}}});
  ended_.clear();
  written_ = Clock::now();
  if (options_.every == 0) return;
  batches_ = std::make_shared<std::vector<BatchRecord>>();
  recorder.share_batches(batches_);
}

void TensorBoard::epoch_begin(Learner& learn) {
  stepped_ = false;
  training_.begin(draws_ ? first_places(options_.images, learn.train_source().samples())
                         : std::vector<std::int64_t>{});
  validation_.begin({});
}

void TensorBoard::validate_begin(Learner& learn) {
  if (learn.progress().activity != Activity::fit || !draws_) return;
  validation_.begin(spread_places(options_.images, learn.valid_source()->samples()));
}

void TensorBoard::batch_end(Learner& learn) {
  const FitProgress& fit = learn.progress();
  if (fit.activity != Activity::fit) return;
  if (!fit.training) return validation_.add(learn.context(), learn.batch());
  if (!training_.complete()) training_batch_ = fit.batch_clock;
  training_.add(learn.context(), learn.batch());
  stepped_ = learn.batch().outcome == Outcome::stepped;
  if (!batches_) return;
  if (fit.batch_clock % options_.every == 0) ended_[fit.batch_clock] = tb::wall_time_now();
  if (batches_->empty()) return;
  if (batches_->size() < kPoints && Clock::now() - written_ < kPatience) return;
  write_batches();
  if (training_.complete()) write_images(learn, training_, training_batch_, "training");
}

void TensorBoard::epoch_end(Learner& learn) {
  Recorder& recorder = recorder_of(learn, name());
  (void)recorder.batches(learn);  // reads all values that are still on the device
  write_batches();
  write_images(learn, training_, training_batch_, "training");
  // An interrupted validation is repeated when the run is resumed.
  if (validation_.complete())
    write_images(learn, validation_, learn.progress().batch_clock, "validation");
  const EpochRecord* const epoch = recorder.finished_epoch();
  if (epoch == nullptr) return;
  write_epoch(learn, *epoch);
  if (options_.histograms > 0 && epoch->epoch % options_.histograms == 0) write_histograms(learn);
}

void TensorBoard::train_end(Learner& learn) {
  ended_at_ = learn.progress().batch_clock;
  (void)recorder_of(learn, name()).batches(learn);
  write_batches();
}

void TensorBoard::error(Learner&, const std::exception&) { write_batches(); }

void TensorBoard::write_batches() {
  if (!batches_ || !file_) return;
  std::vector<tb::Event> events;
  for (const BatchRecord& batch : std::exchange(*batches_, {})) {
    if (batch.batch % options_.every != 0) continue;
    const auto ended = ended_.extract(batch.batch);
    events.push_back(
        {batch.batch, ended.empty() ? tb::wall_time_now() : ended.mapped(), values_of(batch)});
  }
  written_ = Clock::now();
  if (!events.empty()) file_->write(events);
}

void TensorBoard::write_epoch(Learner& learn, const EpochRecord& epoch) {
  file_->write(std::vector{tb::Event{learn.progress().batch_clock,
                                     tb::wall_time_now(),
                                     values_of(epoch, learn.valid_source() != nullptr)}});
}

void TensorBoard::write_histograms(Learner& learn) {
  std::vector<tb::Value> values = weight_histograms(learn);
  if (stepped_)
    for (tb::Value& value : gradient_histograms(learn)) values.push_back(std::move(value));
  file_->write(
      std::vector{tb::Event{learn.progress().batch_clock, tb::wall_time_now(), std::move(values)}});
}

/// Writes the kept samples once.
void TensorBoard::write_images(Learner& learn,
                               KeptSamples& kept,
                               std::int64_t batch,
                               const std::string& what) {
  if (kept.size() == 0) return;
  Context& ctx = learn.context();
  const plot::ImageGrid grid = options_.draw(
      ctx, kept.samples(), kept.outputs(ctx), fmt::format("{}, batch {}", what, batch));
  file_->write(
      std::vector{tb::Event{batch, tb::wall_time_now(), {{"images/" + what, encoded(grid)}}}});
  kept.begin({});
}

void register_tensorboard(CallbackRegistry& registry) {
  registry.add(
      "tensorboard",
      "writes losses, rates, metrics, histograms and images for TensorBoard",
      TensorBoardOptions{},
      [](OptionTable& t, TensorBoardOptions& o) {
        t.text("path", o.path, "DIR", "folder of the event files, relative to the run's folder");
        t.number("every",
                 o.every,
                 {.low = 0, .high = 1e9},
                 "N",
                 "batches between two points of batches; 0: epochs only");
        t.number("histograms",
                 o.histograms,
                 {.low = 0, .high = 1e9},
                 "N",
                 "epochs between two histograms of weights and gradients; 0: none");
        t.number("images",
                 o.images,
                 {.low = 0, .high = 1024},
                 "N",
                 "training and validation images with predictions, each epoch; 0: none");
      },
      [](TensorBoardOptions o, const RunSettings& run) {
        o.path = run.folder / o.path;
        o.draw = run.draw_samples;
        if (const auto config = run.metadata.find("learn.config"); config != run.metadata.end())
          o.config = config->second;
        return make_callback<TensorBoard>(Role::reports, std::move(o));
      });
}

}  // namespace learn::callbacks
