#include "framework/learner/exchange.h"

#include "framework/core/fnv1a.h"
#include "framework/core/seconds_since.h"
#include "framework/kernels/cast/cast.h"
#include "framework/kernels/cast/fill.h"
#include "framework/kernels/map/map.h"
#include "framework/kernels/step/gradients.h"
#include "framework/runtime/transfer.h"
#include "framework/tensor/factory.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <set>
#include <utility>

namespace learn {
namespace {

constexpr std::size_t kHostName = 64;
// Elements between two values of one sum, so that both have the alignment of tensors.
constexpr std::int64_t kApart = 64;

using Clock = std::chrono::steady_clock;

/// The layout of the trained parameters in the flat gradients and their sums, as a hash.
std::uint64_t layout_of(const nn::ParamStore& params, const ExchangeOptions& options) {
  std::vector<std::int64_t> words{static_cast<std::int64_t>(params.working_dtype()),
                                  static_cast<std::int64_t>(params.master_dtype()),
                                  static_cast<std::int64_t>(options.bucket_bytes),
                                  static_cast<std::int64_t>(options.wire),
                                  options.sync_bn ? 1 : 0};
  for (int group = 0; group < params.groups(); ++group)
    for (const nn::Segment& run : params.segments(group, true))
      words.insert(words.end(), {group, run.begin, run.count, run.first_param});
  return fnv1a_words(words);
}

}  // namespace

/// Without padding, because it is sent as bytes.
struct Exchange::Word {
  enum class About : std::int32_t { training, evaluation, comparison };

  double loss = 0;
  double weight = 0;
  std::uint64_t value = 0;  // of a comparison; of a training batch the layout of the parameters
  std::int64_t clock = 0;   // the batch's number in the training or in the pass
  std::int64_t samples = 0;
  About about = About::training;
  std::int32_t outcome = 0;
  std::int32_t weighted = 0;
  std::int32_t requests_end = 0;

  /// The batch or comparison it is about: "training batch 12".
  [[nodiscard]] std::string subject() const {
    if (about == About::comparison)
      return fmt::format("the comparison of weights after {} epochs", clock);
    return fmt::format(
        "{} batch {}", about == About::evaluation ? "validation" : "training", clock);
  }
  /// The action of the rank: "updates with training batch 12 of 64 samples".
  [[nodiscard]] std::string text() const {
    constexpr std::array kOutcome{
        "updates with", "made an update of", "skips", "holds", "cancelled"};
    if (about == About::comparison) return fmt::format("compares weights after {} epochs", clock);
    if (about == About::evaluation)
      return fmt::format("evaluates batch {} of {} samples", clock, samples);
    return fmt::format(
        "{} {} of {} samples", kOutcome[static_cast<std::size_t>(outcome)], subject(), samples);
  }
};

Exchange::Exchange(Communicator& communicator, const ExchangeOptions& options)
    : communicator_(communicator), options_(options) {
  const RankPlace& place = communicator.place();
  std::array<char, kHostName> mine{};
  std::ranges::copy(place.host.substr(0, kHostName - 1), mine.begin());
  communicator.set_purpose("the names of hosts");
  const auto all = gather_from_all(communicator, mine);
  for (int rank = 0; rank < place.ranks; ++rank)
    names_.push_back(
        RankPlace{.rank = rank, .host = all[static_cast<std::size_t>(rank)].data()}.name());
  hosts_ = static_cast<int>(std::set(all.begin(), all.end()).size());
}

Exchange::~Exchange() = default;

Share Exchange::share() const noexcept {
  return {.rank = communicator_.place().rank, .ranks = communicator_.place().ranks};
}

void Exchange::gather(Context&, const Tensor& mine, Tensor& all) {
  communicator_.set_purpose("the statistics of BatchNorm");
  communicator_.gather_tensor(mine, std::vector<std::int64_t>(names_.size(), mine.elements()), all);
}

Exchange::Word Exchange::word_of(const FitProgress& progress,
                                 const BatchRun& batch,
                                 const nn::ParamStore& params) const {
  return {.value = progress.training ? layout_of(params, options_) : 0,
          .clock = (progress.training ? progress.batch_clock : progress.batch_in_pass) + 1,
          .samples = batch.samples(),
          .about = progress.training ? Word::About::training : Word::About::evaluation,
          .outcome = static_cast<std::int32_t>(batch.outcome)};
}

void Exchange::agree(const FitProgress& progress, const BatchRun& batch, nn::ParamStore& params) {
  Word mine = word_of(progress, batch, params);
  mine.weighted = batch.weight.defined() ? 1 : 0;
  if (params.context().device().is_cpu()) {
    mine.loss = get(batch.loss.value(), 0);
    mine.weight = batch.weight.defined() && !batch.spare ? get(batch.weight, 0)
                                                         : static_cast<double>(batch.counted());
  }
  meet_for_batch(mine);
  part_ = static_cast<double>(batch.counted()) / static_cast<double>(batch.samples());
  begin_totals(params.context(), batch);
}

void Exchange::agree_on_replay(const FitProgress& progress,
                               const BatchRun& batch,
                               const nn::ParamStore& params) {
  meet_for_batch(word_of(progress, batch, params));
}

void Exchange::meet_for_batch(const Word& mine) {
  agreed_ = mine.subject();
  if (!std::exchange(again_, false) || words_.empty() || words_.front().clock != mine.clock) {
    words_ = meet(mine);
    if (const int other = first_other(words_); other != 0)
      fail<RanksError>(
          "{} and {} train other parameters, with another precision, or with other options of "
          "DataParallel: all ranks must build the same model and freeze the same layers",
          names_.front(),
          name_of(other));
  }
  end_requested_ = 0;
  weighted_ = false;
  for (const Word& word : words_) {
    end_requested_ = std::max(end_requested_, word.requests_end);
    weighted_ = weighted_ || word.weighted != 0;
  }
}

void Exchange::begin_totals(Context& ctx, const BatchRun& batch) {
  if (ctx.device().is_cpu()) {
    double weight = 0;
    double loss = 0;
    for (const Word& word : words_) {
      weight += word.weight;
      if (word.weight > 0) loss += word.weight * word.loss;
    }
    totals_ = {.loss = kernels::filled(ctx, weight > 0 ? loss / weight : words_.front().loss),
               .weight = weighted_ ? kernels::filled(ctx, weight) : Tensor()};
    return;
  }
  static const kernels::MapProgram kWeighed =
      kernels::compile(select(expr::arg(1) > 0, expr::arg(0) * expr::arg(1), 0));
  Tensor weight = batch.weight;
  if (!weight.defined() || batch.spare)
    weight = kernels::filled(ctx, static_cast<double>(batch.counted()));
  sums_ = ctx.empty({2 * kApart}, DType::f32);
  kernels::fill(ctx, sums_, 0);
  Tensor own = sums_.range(kApart, 1);
  copy(ctx, weight, own);
  kernels::map(ctx, kWeighed, std::array{batch.loss.value(), weight}, sums_.range(0, 1));
  communicator_.set_purpose(agreed_);
  communicator_.begin_sum(sums_);
}

/// The result of sums on a GPU, once.
void Exchange::finish_totals(Context& ctx) {
  if (!sums_.defined()) return;
  static const kernels::MapProgram kMean =
      kernels::compile(expr::arg(0) / select(expr::arg(1) > 0, expr::arg(1), 1));
  communicator_.finish();
  totals_.loss = ctx.empty({1}, DType::f32);
  Tensor weight = ctx.empty({1}, DType::f32);
  copy(ctx, sums_.range(kApart, 1), weight);
  kernels::map(ctx, kMean, std::array{sums_.range(0, 1), weight}, totals_.loss);
  totals_.weight = weighted_ ? weight : Tensor();
  sums_ = {};
}

Tensor Exchange::weight(Context& ctx) {
  if (weighted_) finish_totals(ctx);
  return totals_.weight;
}

BatchTotals Exchange::totals(Context& ctx) {
  finish_totals(ctx);
  return std::exchange(totals_, {});
}

int Exchange::different_rank(std::int64_t clock, std::uint64_t value) {
  return first_other(meet({.value = value, .clock = clock, .about = Word::About::comparison}));
}

/// The first rank whose value is not rank 0's; 0 if all have the same.
int Exchange::first_other(const std::vector<Word>& words) {
  const auto other = std::ranges::find_if(
      words, [&](const Word& word) { return word.value != words.front().value; });
  return other == words.end() ? 0 : static_cast<int>(other - words.begin());
}

std::vector<Exchange::Word> Exchange::meet(Word mine) {
  mine.requests_end = requests_end_;
  communicator_.set_purpose(mine.subject());
  const auto begin = Clock::now();
  std::vector<Word> words = gather_from_all(communicator_, mine);
  costs_.agreeing += seconds_since(begin);
  const Word& first = words.front();
  for (std::size_t rank = 1; rank < words.size(); ++rank) {
    const Word& other = words[rank];
    if (other.about != first.about || other.clock != first.clock ||
        other.samples != first.samples || other.outcome != first.outcome)
      fail<RanksError>(
          "{} {}, but {} {}: all ranks must have the same batches and decide alike. A callback may "
          "decide by losses, metrics and counters, which are the same on all ranks, but not by a "
          "rank's own inputs, outputs or time",
          names_.front(),
          first.text(),
          names_[rank],
          other.text());
  }
  return words;
}

void Exchange::begin_gradients(nn::ParamStore& params,
                               DeviceArray<StepControl>& control,
                               GradMode mode) {
  params_ = &params;
  control_ = &control;
  mode_ = mode;
  communicator_.set_purpose("the gradients of " + agreed_);
  plan_buckets();
}

/// A bucket can be sent when its first parameter's gradient is complete, and the backward pass
/// usually comes to the parameters in the reverse order of their declaration.
void Exchange::plan_buckets() {
  buckets_.clear();
  bucket_of_.clear();
  sent_ = 0;
  for (int group = 0; group < params_->groups(); ++group)
    for (const bool halves : {true, false}) add_to_buckets(group, halves);
  std::ranges::stable_sort(buckets_, std::ranges::greater(), &Bucket::first_param);
  for (std::size_t at = 0; at < buckets_.size(); ++at) {
    Bucket& bucket = buckets_[at];
    for (std::int64_t i = 0; i < params_->size(); ++i) {
      const ParamSlot& slot = params_->slot(i);
      const bool within =
          params_->offset(i) >= bucket.begin && params_->offset(i) < bucket.begin + bucket.count;
      if (!slot.trainable || !within) continue;
      bucket_of_.emplace(&slot, at);
      ++bucket.missing;
    }
  }
}

void Exchange::add_to_buckets(int group, bool halves) {
  const auto pieces =
      halves ? params_->half_segments(group, true) : params_->full_segments(group, true);
  const auto limit = static_cast<std::int64_t>(options_.bucket_bytes / sizeof(float));
  bool open = false;
  for (auto piece = pieces.rbegin(); piece != pieces.rend(); ++piece) {
    const bool follows = open && piece->begin + piece->count == buckets_.back().begin &&
                         buckets_.back().count < limit;
    if (!follows) buckets_.push_back({.first_param = piece->first_param, .halves = halves});
    open = true;
    Bucket& bucket = buckets_.back();
    bucket.begin = piece->begin;
    bucket.count += piece->count;
    bucket.first_param = std::min(bucket.first_param, piece->first_param);
  }
}

void Exchange::complete(ParamSlot& slot) {
  const auto found = bucket_of_.find(&slot);
  if (found == bucket_of_.end()) return;
  --buckets_[found->second].missing;
  while (options_.overlap && sent_ < buckets_.size() && buckets_[sent_].missing == 0)
    send(buckets_[sent_++]);
  communicator_.progress();
}

Tensor Exchange::gradients(const Bucket& bucket) const {
  return params_->flat_grad().range(bucket.begin, bucket.count);
}

Tensor Exchange::half_gradients(const Bucket& bucket) const {
  return params_->flat_half_grad().range(bucket.begin, bucket.count);
}

bool Exchange::sends_halves(const Bucket& bucket) const {
  return bucket.halves && options_.wire == Wire::half && mode_ == GradMode::overwrite;
}

DType Exchange::type_on_wire(DType gradients) const {
  if (is_half(gradients)) return options_.wire == Wire::half ? gradients : DType::f32;
  const bool as_bf16 =
      options_.wire == Wire::half && gradients == DType::f32 && !is_half(params_->working_dtype());
  return as_bf16 ? DType::bf16 : gradients;
}

void Exchange::send(Bucket& bucket) {
  Context& ctx = params_->context();
  if (sends_halves(bucket)) {
    bucket.sent = half_gradients(bucket);
  } else {
    bucket.sent = gradients(bucket);
    if (bucket.halves)
      kernels::unscale_to_master_grads(ctx, half_gradients(bucket), bucket.sent, *control_, mode_);
    const DType type = type_on_wire(bucket.sent.dtype());
    if (type != bucket.sent.dtype()) {
      Tensor staged = ctx.empty(bucket.sent.shape(), type);
      kernels::cast(ctx, bucket.sent, staged);
      bucket.sent = std::move(staged);
    }
  }
  communicator_.begin_sum(bucket.sent);
  costs_.sent += static_cast<std::int64_t>(bucket.sent.bytes());
}

void Exchange::take(Bucket& bucket) {
  Context& ctx = params_->context();
  Tensor values = gradients(bucket);
  if (sends_halves(bucket)) {
    kernels::unscale_to_master_grads(ctx, bucket.sent, values, *control_, mode_);
  } else {
    if (bucket.sent.dtype() != values.dtype()) kernels::cast(ctx, bucket.sent, values);
    // The verdict of a rank's own halves is not the same on all ranks, but this one is.
    if (bucket.halves) kernels::find_non_finite(ctx, values, *control_);
  }
  bucket.sent = {};
}

void Exchange::end_gradients() {
  while (sent_ < buckets_.size()) {
    check<Error>(buckets_[sent_].missing == 0,
                 "a gradient of parameter '{}' or a later one is not complete after the backward "
                 "pass",
                 params_->info(buckets_[sent_].first_param).name);
    send(buckets_[sent_++]);
  }
  statistics_.begin(communicator_, *params_, part_);
  costs_.sent += static_cast<std::int64_t>(params_->flat_buffers().bytes());
  const auto begin = Clock::now();
  communicator_.finish();
  costs_.summing += seconds_since(begin);
  ++costs_.updates;
  for (Bucket& bucket : buckets_) take(bucket);
  if (params_->flat_half_grad().defined()) params_->drop_half_gradients();
  statistics_.end(*params_);
}

Tensor Exchange::whole(Context& ctx, const Tensor& rows, const Batch& batch) {
  check<UsageError>(rows.shape().rank() > 0 && rows.shape()[0] == batch.size(),
                    "several ranks join outputs and targets by samples: a batch of {} samples has "
                    "{} of shape {}, whose first extent must be the number of samples",
                    batch.size(),
                    rows.dtype(),
                    rows.shape());
  const std::int64_t row = rows.elements() / batch.size();
  std::vector<std::int64_t> counts;
  for (Share each{.ranks = share().ranks}; each.rank < each.ranks; ++each.rank)
    counts.push_back(each.of(batch.samples()).count * row);
  Shape shape = rows.shape();
  shape.set(0, batch.samples());
  Tensor all = ctx.empty(shape, rows.dtype());
  communicator_.set_purpose("the outputs of " + agreed_);
  communicator_.gather_tensor(
      rows.view({rows.elements()}).range(0, batch.counted() * row), counts, all);
  return all;
}

}  // namespace learn
