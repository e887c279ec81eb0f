#include "apps/learn/training/batch_size_find.h"

#include "apps/experiment/experiment.h"
#include "apps/learn/cli/command.h"
#include "apps/learn/common/host.h"
#include "apps/learn/common/signals.h"
#include "callbacks/interrupt.h"
#include "framework/core/console.h"
#include "framework/core/log.h"
#include "framework/io/free_space.h"
#include "framework/terminal/text_table.h"
#include "framework/terminal/word_wrap.h"

namespace learn::cli {
namespace {

std::string table_of(const BatchSizeFindResult& found) {
  TextTable table({{"batch size", TextTable::Align::right},
                   {"ms/step", TextTable::Align::right},
                   {"image/s", TextTable::Align::right},
                   {"memory of a step", TextTable::Align::right}});
  for (const BatchSizeTrial& one : found.trials)
    table.row({fmt::format("{}", one.batch_size),
               fmt::format("{:.2f}", 1e3 * one.step_seconds),
               fmt::format("{:.0f}", one.samples_per_second),
               bytes_text(one.bytes)});
  return table.to_string();
}

std::string doubt_of(const BatchSizeFindResult& found) {
  constexpr double kMuch = 0.25;
  if (found.noise() < kMuch) return "";
  return fmt::format(
      "The timings contradict each other by {:.0f}%: the machine is busy, and the suggestion may "
      "be "
      "wrong. Try again when it is not, or with more --steps.\n",
      100 * found.noise());
}

std::string suggestion_of(const BatchSizeFindResult& found) {
  const BatchSizeTrial* const best = found.suggested();
  if (best == nullptr) return "";
  return fmt::format(
      "{} is the smallest batch within {:.0f}% of the highest speed; {} is the largest "
      "tried.\nnext  learn train --batch-size {} with the same options, at a rate from lr-find for "
      "it\n",
      best->batch_size,
      100 * (1 - BatchSizeFindResult::kAsFast),
      found.trials.back().batch_size,
      best->batch_size);
}

}  // namespace

OptionTable BatchSizeFindCommandOptions::table() {
  OptionTable t = steps_of_train(train).without(
      {"batch-size", "drop-last", "sync-bn", "bucket", "wire", "rank-timeout"});
  t.group("This call");
  constexpr Range kSizes{.low = 1, .high = 1 << 20};
  t.number("smallest",
           sizes.smallest,
           kSizes,
           "N",
           "smallest size; each size is twice the previous one");
  t.number("largest", sizes.largest, kSizes, "N", "largest size");
  t.number("steps", sizes.steps, {.low = 1, .high = 10000}, "N", "steps to time at each size");
  return t;
}

void BatchSizeFindCommandOptions::resolve(const OptionTable& table,
                                          const OptionValues& command_line) {
  resolve_some(steps_of_train(train).names(), table, command_line);
}

int batch_size_find(const BatchSizeFindCommandOptions& o) {
  ExperimentOptions options = o.train.experiment;
  options.data.leave_out_validation();
  Experiment experiment(std::move(options));
  Learner& learn = experiment.learner();
  if (log::enabled(log::Level::info)) console::say(stderr, folded(experiment.headline(), stderr));
  learn.add<callbacks::Interrupt>(caught_signal());
  catch_signals();
  BatchSizeFindOptions sizes = o.sizes;
  if (learn.context().device().is_cpu()) sizes.memory = host_memory().available / 2;
  const data::Loader& loader = experiment.loaders().train();
  const BatchSizeFindResult found = learn.batch_size_find(
      [&](std::int64_t size) {
        data::LoaderOptions batches = loader.options();
        batches.batch_size = size;
        batches.drop_last = true;
        return std::make_unique<data::Loader>(learn.context(), loader.dataset(), batches);
      },
      sizes);
  if (found.trials.empty() && found.ended == BatchSizeFindEnd::samples)
    fail<UsageError>("--smallest {}: there are only {} training images",
                     sizes.smallest,
                     loader.dataset().size());
  if (found.trials.empty() && found.ended == BatchSizeFindEnd::memory)
    fail<OutOfMemoryError>(
        "a batch of {} does not fit in memory: use a smaller --smallest or a smaller model",
        found.refused);
  console::print(table_of(found));
  console::print(fmt::format("It ended as {}.\n", found.why()));
  console::print(doubt_of(found));
  console::print(suggestion_of(found));
  return found.ended == BatchSizeFindEnd::interrupted ? 128 + caught_signal() : 0;
}

void register_batch_size_find(Commands& commands) {
  commands.add<BatchSizeFindCommandOptions>(
      {.name = "batch-size-find",
       .group = Group::train,
       .place = 2,
       .help = "find the fastest batch size that fits in memory",
       .examples = {{"The fastest batch size that fits in memory",
                     "learn batch-size-find --data ~/photos --model resnet18 --precision fp16"}}},
      [](BatchSizeFindCommandOptions& o, const Parsed&) { return batch_size_find(o); });
}

}  // namespace learn::cli
