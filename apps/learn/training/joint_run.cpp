#include "apps/learn/training/joint_run.h"

#include "apps/learn/common/ranks.h"
#include "apps/learn/common/signals.h"
#include "apps/learn/training/ending.h"
#include "callbacks/data_parallel.h"
#include "callbacks/interrupt.h"
#include "framework/core/log.h"
#include "framework/core/threads/processors.h"
#include "framework/core/version.h"
#include "framework/learner/share_state.h"

#include <sched.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <sstream>
#include <vector>

namespace learn::cli {
namespace {

/// Where a rank may run.
struct Processors {
  std::array<char, 64> host{};
  cpu_set_t set{};
};

Processors processors_of(const RankPlace& place) {
  Processors mine;
  std::ranges::copy(place.host.substr(0, mine.host.size() - 1), mine.host.begin());
  CPU_ZERO(&mine.set);
  ::sched_getaffinity(0, sizeof mine.set, &mine.set);
  return mine;
}

/// Gives all ranks the text of rank `from`.
std::string text_of(int from, std::string text, Communicator& ranks) {
  std::uint64_t size = text.size();
  ranks.broadcast(std::as_writable_bytes(std::span(&size, 1)), from);
  text.resize(size);
  ranks.broadcast(std::as_writable_bytes(std::span(text)), from);
  return text;
}

/// Facts that must be the same on all ranks, one on each line.
std::string facts_of(const Experiment& experiment, const std::string& config) {
  const data::DataPair& data = experiment.data();
  return fmt::format("version {}\ncompiler {}\ntraining images {} {}\nvalidation images {} {}\n{}",
                     LEARN_VERSION,
                     __VERSION__,
                     data.train.name,
                     data.train.fingerprint(),
                     data.valid.name,
                     data.valid.fingerprint(),
                     config);
}

/// The first line that differs, of each.
std::pair<std::string, std::string> first_difference(const std::string& a, const std::string& b) {
  std::istringstream left(a);
  std::istringstream right(b);
  std::pair<std::string, std::string> lines;
  do {
    if (!std::getline(left, lines.first)) lines.first = "nothing";
    if (!std::getline(right, lines.second)) lines.second = "nothing";
  } while (lines.first == lines.second && left && right);
  return lines;
}

}  // namespace

int threads_of_rank(Communicator& ranks) {
  const Processors mine = processors_of(ranks.place());
  ranks.set_purpose("the comparison of processors");
  const std::vector<Processors> all = gather_from_all(ranks, mine);
  const auto sharing = std::ranges::count_if(all, [&](const Processors& other) {
    cpu_set_t both;
    CPU_AND(&both, &mine.set, &other.set);
    return other.host == mine.host && CPU_COUNT(&both) > 0;
  });
  return std::max(1, physical_cores() / static_cast<int>(sharing));
}

void share_processors(DeviceSection& device, Communicator* ranks) {
  if (ranks == nullptr) return;
  device.local_rank = ranks->place().local_rank;
  if (device.threads == 0) device.threads = threads_of_rank(*ranks);
}

void join_ranks(Experiment& experiment, const std::string& config, Communicator* joined) {
  if (joined == nullptr) return;
  Communicator& ranks = *joined;
  const std::string mine = facts_of(experiment, config);
  ranks.set_purpose("the comparison of options and data");
  const std::string first = text_of(0, mine, ranks);
  const bool differs = mine != first;
  const std::vector<char> all = gather_from_all(ranks, static_cast<char>(differs));
  if (const auto other = std::ranges::find(all, 1); other != all.end()) {
    const int rank = static_cast<int>(other - all.begin());
    const std::string name = text_of(rank, ranks.place().name(), ranks);
    const auto [there, here] = first_difference(text_of(rank, mine, ranks), first);
    fail<RanksError>(
        "{} has other options, data or another version than rank 0: '{}' there, '{}' on rank 0. "
        "Start the same command with the same files on all hosts",
        name,
        there,
        here);
  }
  const RanksSection& options = experiment.options().ranks;
  experiment.learner().add<callbacks::DataParallel>(
      ranks,
      callbacks::DataParallelOptions{.bucket_mb = options.bucket,
                                     .wire = options.wire,
                                     .sync_bn = options.sync_bn,
                                     .timeout = static_cast<double>(options.rank_timeout)});
}

void part_ranks(Experiment& experiment) {
  Learner& learn = experiment.learner();
  learn.remove(*learn.find<callbacks::DataParallel>());
  close_ranks();
}

std::string share_text(const std::string& of_rank_0,
                       const std::string& purpose,
                       Communicator* ranks) {
  if (ranks == nullptr) return of_rank_0;
  ranks->set_purpose(purpose);
  return text_of(0, of_rank_0, *ranks);
}

int train_as_other_rank(Experiment& experiment, const TrainOptions& options, Communicator& ranks) {
  Learner& learn = experiment.learner();
  learn.check_batches();
  const std::filesystem::path folder = share_text({}, kRunFolder, &ranks);
  if (options.experiment.ranks.rank_logs) {
    std::error_code ignored;  // the log's own error says more
    std::filesystem::create_directories(folder, ignored);
    log::set_file((folder / fmt::format("run.rank-{:03}.log", ranks.place().rank)).string());
    log::to_file(fmt::format("{}: {}", ranks.place().name(), experiment.headline()));
  }
  learn.add<callbacks::Interrupt>(caught_signal());
  if (!options.resume.empty()) {
    share_state(learn, ranks);
    if (options.extend > 0)
      learn.optimizer().set_lr_factor(1);
    else
      learn.resume();
  }
  catch_signals();
  try {
    experiment.fit();
  } catch (const std::exception& e) {
    log::to_file(fmt::format("error: {}", e.what()));  // the terminal may only show another rank's
    throw;
  }
  return ending_of(learn).exit_code;
}

}  // namespace learn::cli
