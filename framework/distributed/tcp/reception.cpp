#include "framework/core/host_name.h"
#include "framework/core/log.h"
#include "framework/core/version.h"
#include "framework/distributed/rank_texts.h"
#include "framework/distributed/tcp/start.h"

#include <fmt/core.h>

#include <algorithm>
#include <list>
#include <utility>

namespace learn::tcp {
namespace {

constexpr std::chrono::seconds kGreetingTime{5};

/// A connection whose greeting has not come.
struct Stranger {
  std::unique_ptr<Channel> channel;
  std::string from;
  Clock::time_point until;
};

struct Greeting {
  std::uint64_t number = 0;
  std::string version, host, job;

  [[nodiscard]] std::size_t rank() const { return number & 0xFFFFFFFFU; }
  [[nodiscard]] std::size_t ranks() const { return number >> 32U; }
};

Greeting read_greeting(const Message& message) {
  const std::size_t first = message.text.find('\n');
  const std::size_t second = message.text.find('\n', first + 1);
  Greeting greeting{.number = message.number, .version = message.text.substr(0, first)};
  if (first == std::string::npos || second == std::string::npos) return greeting;
  greeting.host = message.text.substr(first + 1, second - first - 1);
  greeting.job = message.text.substr(second + 1);
  return greeting;
}

/// Receives the ranks of a job on rank 0.
class Reception {
 public:
  Reception(const Launcher& launcher, std::chrono::milliseconds deadline)
      : launcher_(launcher),
        deadline_(deadline),
        until_(after(deadline)),
        listener_(listen_at(launcher.meeting->port)),
        hosts_(static_cast<std::size_t>(launcher.ranks.value_or(1))),
        seats_(hosts_.size()) {
    hosts_[0] = host_name();
  }

  Star receive() {
    while (!missing().empty()) {
      wait();
      accept();
      for (auto stranger = strangers_.begin(); stranger != strangers_.end();)
        stranger = keep_waiting(*stranger) ? std::next(stranger) : strangers_.erase(stranger);
      look_at_seats();
      if (Clock::now() >= until_) end_wait();
    }
    std::string hosts;
    for (const std::string& host : hosts_) hosts += host + '\n';
    for (const auto& seat : seats_)
      if (seat) seat->queue(Kind::welcome, 0, hosts);
    send_queued(seats_, until_);
    return {.hosts = std::move(hosts_), .channels = std::move(seats_)};
  }

 private:
  void wait() {
    std::vector<const Channel*> channels = pointers(seats_);
    for (const Stranger& stranger : strangers_) channels.push_back(stranger.channel.get());
    wait_for(channels, until_, listener_);
  }

  void accept() {
    for (;;) {
      Accepted accepted = accept_at(listener_);
      if (!accepted.socket.open()) return;
      Stranger& stranger = strangers_.emplace_back();
      stranger.channel = std::make_unique<Channel>(std::move(accepted.socket));
      stranger.from = std::move(accepted.from);
      stranger.until = Clock::now() + kGreetingTime;
    }
  }

  /// Returns whether the stranger may still greet.
  bool keep_waiting(Stranger& stranger) {
    Channel& channel = *stranger.channel;
    (void)channel.advance();
    if (!channel.foreign().empty()) return refuse(stranger, channel.foreign());
    if (const auto message = channel.take()) {
      const Greeting greeting = read_greeting(*message);
      std::string problem = problem_with(*message, greeting);
      if (!problem.empty()) return refuse(stranger, std::move(problem));
      hosts_[greeting.rank()] = greeting.host;
      seats_[greeting.rank()] = std::move(stranger.channel);
      seats_[greeting.rank()]->trust();
      return false;
    }
    if (channel.closed()) return refuse(stranger, "it closed the connection without a greeting");
    if (Clock::now() >= stranger.until) return refuse(stranger, "it sent no greeting");
    return true;
  }

  [[nodiscard]] std::string problem_with(const Message& message, const Greeting& greeting) const {
    if (message.kind != Kind::hello) return "it sent no greeting";
    if (greeting.version != LEARN_VERSION)
      return fmt::format(
          "it has version {} of learn, but rank 0 has {}: install the same on all "
          "hosts",
          greeting.version,
          LEARN_VERSION);
    if (greeting.job != launcher_.meeting->job)
      return fmt::format(
          "it belongs to the job '{}', but rank 0 to '{}': give each job a "
          "MASTER_PORT",
          greeting.job,
          launcher_.meeting->job);
    if (greeting.ranks() != hosts_.size())
      return fmt::format(
          "it is one of {} ranks, but rank 0 one of {}: set the same WORLD_SIZE for "
          "all processes, and give each job a MASTER_PORT",
          greeting.ranks(),
          hosts_.size());
    if (greeting.rank() >= hosts_.size())
      return fmt::format("rank {} is not below {}", greeting.rank(), hosts_.size());
    if (greeting.rank() == 0 || seats_[greeting.rank()])
      return fmt::format(
          "rank {} is there already, on {}: set another RANK for each process, and "
          "give each job a MASTER_PORT",
          greeting.rank(),
          hosts_[greeting.rank()]);
    return {};
  }

  /// Ends a connection. Returns false.
  bool refuse(Stranger& stranger, std::string why) {
    log::warn("[ranks] refused a connection from {}: {}", stranger.from, why);
    refused_ =
        fmt::format(". The last connection that was refused, from {}: {}", stranger.from, why);
    Channel& channel = *stranger.channel;
    if (channel.foreign().empty()) {
      channel.queue(Kind::refusal, 0, why);
      (void)channel.advance();
    }
    return false;
  }

  /// Ranks that have come may end before the others come, or wait no longer.
  void look_at_seats() {
    for (std::size_t rank = 1; rank < seats_.size(); ++rank) {
      if (!seats_[rank]) continue;
      Channel& channel = *seats_[rank];
      (void)channel.advance();
      while (const auto message = channel.take())
        if (message->kind == Kind::late) end_wait();
      if (!channel.closed()) continue;
      log::warn("[ranks] rank {} ({}) ended before all ranks came", rank, hosts_[rank]);
      seats_[rank].reset();
    }
  }

  [[nodiscard]] std::vector<std::size_t> missing() const {
    std::vector<std::size_t> ranks;
    for (std::size_t rank = 1; rank < seats_.size(); ++rank)
      if (!seats_[rank]) ranks.push_back(rank);
    return ranks;
  }

  [[noreturn]] void end_wait() {
    const std::vector<std::size_t> ranks = missing();
    std::string names;
    for (std::size_t i = 0; i < std::min(ranks.size(), std::size_t{8}); ++i)
      names += fmt::format("{}{}", i == 0 ? "" : ", ", ranks[i]);
    if (ranks.size() > 8) names += fmt::format(" and {} more", ranks.size() - 8);
    const std::string text = fmt::format(
        "rank {} did not connect to rank 0 ({}) at port {} within {}. Start all {} processes with "
        "the same MASTER_ADDR, MASTER_PORT and WORLD_SIZE, and let the network pass this port{}",
        names,
        hosts_[0],
        launcher_.meeting->port,
        seconds_text(deadline_),
        hosts_.size(),
        refused_);
    for (const auto& seat : seats_)
      if (seat) seat->queue(Kind::failure, 0, text);
    send_queued(seats_, Clock::now() + kAnswerTime);
    fail<RanksError>("{}", text);
  }

  const Launcher& launcher_;
  std::chrono::milliseconds deadline_;
  Clock::time_point until_;
  Socket listener_;
  std::vector<std::string> hosts_;               // by rank
  std::vector<std::unique_ptr<Channel>> seats_;  // by rank
  std::list<Stranger> strangers_;
  std::string refused_;  // the last, for the error
};

}  // namespace

Star receive_ranks(const Launcher& launcher, std::chrono::milliseconds deadline) {
  return Reception(launcher, deadline).receive();
}

}  // namespace learn::tcp
