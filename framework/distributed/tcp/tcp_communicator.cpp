#include "framework/distributed/tcp/tcp_communicator.h"

#include "framework/core/fnv1a.h"
#include "framework/core/log.h"
#include "framework/distributed/rank_texts.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <numeric>

namespace learn::tcp {
namespace {

enum Signature : std::uint64_t { kGather, kBroadcast, kRoll, kEnd };

constexpr std::chrono::milliseconds kPartingTime{500};

}  // namespace

TcpCommunicator::TcpCommunicator(const Launcher& launcher, const CommunicatorOptions& options)
    : options_(options),
      star_(join_ranks(launcher, options.deadline)),
      came_(star_.hosts.size()),
      exceptions_(std::uncaught_exceptions()) {}

TcpCommunicator::~TcpCommunicator() {
  if (failure_ || std::uncaught_exceptions() != exceptions_) return;
  try {
    purpose_ = "the end of the program";
    (void)exchange({.what = "the end", .signature = fnv1a_words(std::array{kEnd})},
                   [](auto) { return Bytes(); });
  } catch (const Error& error) {
    log::error("[ranks] {}", error.what());
    end_all(error.exit_code());
  }
}

template <class Work>
void TcpCommunicator::guarded(Work work) {
  if (failure_) fail<RanksError>("{}", *failure_);
  try {
    work();
  } catch (const RanksError& error) {
    failure_ = error.what();
    throw;
  }
}

void TcpCommunicator::begin_sum(const Tensor& values) {
  fail<UsageError>(
      "TCP does not sum {} {} of {}: the processes of torchrun can train on GPUs only. To train on "
      "CPUs, start the same command by 'mpirun -n {}'",
      values.shape(),
      values.dtype(),
      values.device(),
      place().ranks);
}

void TcpCommunicator::progress() {
  guarded([&] {
    for (std::size_t rank = 0; rank < star_.channels.size(); ++rank) take_from(rank);
  });
}

void TcpCommunicator::gather(std::span<const std::byte> mine,
                             std::span<const std::size_t> sizes,
                             std::span<std::byte> all) {
  check_gather(mine, sizes, all);
  std::vector<std::uint64_t> signature{kGather};
  signature.insert(signature.end(), sizes.begin(), sizes.end());
  const Shared joined = exchange({.what = fmt::format("the gathering of {} bytes", all.size()),
                                  .signature = fnv1a_words(signature),
                                  .mine = mine},
                                 [&](std::span<const Message> calls) {
                                   Bytes bytes(mine.begin(), mine.end());
                                   for (const Message& call : calls)
                                     bytes.insert(bytes.end(), call.data.begin(), call.data.end());
                                   return bytes;
                                 });
  std::copy(joined->begin(), joined->end(), all.begin());
}

void TcpCommunicator::broadcast(std::span<std::byte> values, int from) {
  check_broadcast(from);
  const bool mine = from == place().rank;
  const Shared sent =
      exchange({.what = fmt::format("the broadcast of {} bytes by rank {}", values.size(), from),
                .signature = fnv1a_words(std::array<std::uint64_t, 3>{
                    kBroadcast, values.size(), static_cast<std::uint64_t>(from)}),
                .mine = mine ? std::span<const std::byte>(values) : std::span<const std::byte>()},
               [&](std::span<const Message> calls) {
                 if (mine) return Bytes(values.begin(), values.end());
                 return calls[static_cast<std::size_t>(from) - 1].data;
               });
  if (!mine) std::copy(sent->begin(), sent->end(), values.begin());
}

void TcpCommunicator::call_roll(const std::string& failure) {
  purpose_ = kRollCall;
  // Another rank may have come later to the wait in which it finds the failure.
  if (options_.deadline.count() > 0) options_.deadline += kAnswerTime;
  (void)exchange({.what = failure, .signature = fnv1a_words(std::array{kRoll})},
                 [](auto) { return Bytes(); });
}

TcpCommunicator::Shared TcpCommunicator::exchange(const Call& call, Join join) {
  Shared joined;
  guarded([&] {
    ++calls_;
    joined = place().rank == 0 ? lead(call, join) : follow(call);
  });
  return joined;
}

TcpCommunicator::Shared TcpCommunicator::lead(const Call& call, Join join) {
  wait_for_calls();
  compare(call);
  std::vector<Message> calls;
  for (std::size_t rank = 1; rank < came_.size(); ++rank)
    calls.push_back(std::move(*std::exchange(came_[rank], std::nullopt)));
  auto joined = std::make_shared<const Bytes>(join(calls));
  for (const auto& channel : star_.channels)
    if (channel) channel->queue(Kind::result, 0, {}, joined);
  send_results();
  return joined;
}

void TcpCommunicator::wait_for_calls() {
  auto last_step = Clock::now();
  for (;;) {
    bool all = true;
    for (std::size_t rank = 1; rank < came_.size(); ++rank) {
      const std::uint64_t received = star_.channels[rank]->received();
      take_from(rank);
      if (star_.channels[rank]->received() != received) last_step = Clock::now();
      all = all && came_[rank];
    }
    if (all) return;
    if (asked_ == calls_ || Clock::now() >= limit(last_step)) end_wait();
    wait_for(pointers(star_.channels), limit(last_step));
  }
}

void TcpCommunicator::take_from(std::size_t rank) {
  if (!star_.channels[rank]) return;
  Channel& channel = *star_.channels[rank];
  // Each other rank has its only connection to rank 0.
  (void)channel.advance();
  while (std::optional<Message> message = channel.take()) {
    if (message->kind == Kind::end) end_process(*message);
    check<RanksError>(message->kind != Kind::failure, "{}", message->text);
    if (message->kind == Kind::late)
      asked_ = std::max(asked_, message->number);
    else
      came_[rank] = std::move(message);
  }
  if (!channel.closed() || (place().rank != 0 && came_[rank])) return;
  const std::string text = fmt::format(
      "the process of {} ended or its host was lost: it is missing in {}", name_of(rank), purpose_);
  if (place().rank == 0) fail_all(text);
  fail<RanksError>("{}", text);
}

void TcpCommunicator::compare(const Call& call) {
  const auto other = std::find_if(came_.begin() + 1, came_.end(), [&](const auto& message) {
    return message->number != call.signature;
  });
  if (other == came_.end()) return;
  fail_all(
      difference_text({name_of(0), fmt::format("{}, {}", call.what, purpose_)},
                      {name_of(static_cast<std::size_t>(other - came_.begin())), (*other)->text}));
}

void TcpCommunicator::send_results() {
  auto last_step = Clock::now();
  for (;;) {
    std::vector<int> slow;
    for (std::size_t rank = 1; rank < came_.size(); ++rank) {
      Channel& channel = *star_.channels[rank];
      // A rank that has its result may already make the next call.
      if (channel.advance()) last_step = Clock::now();
      if (channel.sending()) slow.push_back(static_cast<int>(rank));
    }
    if (slow.empty()) return;
    if (Clock::now() >= limit(last_step))
      fail_all(fmt::format("{} stopped during {}: it received nothing for {}",
                           ranks_text(slow, star_.hosts),
                           purpose_,
                           seconds_text(options_.deadline)));
    wait_for(pointers(star_.channels), limit(last_step));
  }
}

TcpCommunicator::Shared TcpCommunicator::follow(const Call& call) {
  Channel& channel = *star_.channels.front();
  channel.queue(Kind::call,
                call.signature,
                fmt::format("{}, {}", call.what, purpose_),
                std::make_shared<const Bytes>(call.mine.begin(), call.mine.end()));
  auto last_step = Clock::now();
  bool asked = false;
  for (;;) {
    const std::uint64_t received = channel.received();
    const bool sending = channel.sending();
    take_from(0);
    if (came_.front())
      return std::make_shared<const Bytes>(
          std::move(std::exchange(came_.front(), std::nullopt)->data));
    if (channel.received() != received || (sending && !asked && !channel.sending())) {
      last_step = Clock::now();
      asked = false;
    }
    if (!asked && Clock::now() >= limit(last_step)) {
      channel.queue(Kind::late, calls_);
      asked = true;
      last_step = Clock::now();
    }
    if (asked && Clock::now() >= last_step + kAnswerTime) {
      const std::string time = seconds_text(options_.deadline);
      check<RanksError>(!channel.receiving(),
                        "{} stopped during {}: nothing came for {}",
                        name_of(0),
                        purpose_,
                        time);
      fail<RanksError>("{} did not come to {} within {}", name_of(0), purpose_, time);
    }
    wait_for(pointers(star_.channels), asked ? last_step + kAnswerTime : limit(last_step));
  }
}

std::string TcpCommunicator::name_of(std::size_t rank) const {
  return ranks_text({static_cast<int>(rank)}, star_.hosts);
}

Clock::time_point TcpCommunicator::limit(Clock::time_point since) const {
  return options_.deadline.count() > 0 ? since + options_.deadline : Clock::time_point::max();
}

void TcpCommunicator::fail_all(const std::string& text) {
  for (const auto& channel : star_.channels)
    if (channel) channel->queue(Kind::failure, 0, text);
  send_queued(star_.channels, Clock::now() + kPartingTime);
  fail<RanksError>("{}", text);
}

void TcpCommunicator::end_wait() {
  std::vector<int> missing;
  std::vector<int> stopped;
  for (std::size_t rank = 1; rank < came_.size(); ++rank)
    if (!came_[rank])
      (star_.channels[rank]->receiving() ? stopped : missing).push_back(static_cast<int>(rank));
  const std::string time = seconds_text(options_.deadline);
  if (missing.empty())
    fail_all(fmt::format("{} stopped during {}: nothing came for {}",
                         ranks_text(stopped, star_.hosts),
                         purpose_,
                         time));
  fail_all(fmt::format(
      "{} did not come to {} within {}", ranks_text(missing, star_.hosts), purpose_, time));
}

void TcpCommunicator::end_process(const Message& end) {
  log::error("[ranks] {} ended all ranks with exit code {}", end.text, end.number);
  end_all_for(end.text, static_cast<ExitCode>(end.number));
}

void TcpCommunicator::end_all(ExitCode code) { end_all_for(place().name(), code); }

void TcpCommunicator::end_all_for(const std::string& rank, ExitCode code) {
  log::flush();
  (void)std::fflush(nullptr);
  for (const auto& channel : star_.channels)
    if (channel) channel->queue(Kind::end, static_cast<std::uint64_t>(code), rank);
  send_queued(star_.channels, Clock::now() + kPartingTime);
  std::_Exit(static_cast<int>(code));
}

}  // namespace learn::tcp
