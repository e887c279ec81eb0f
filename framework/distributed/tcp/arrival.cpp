#include "framework/core/host_name.h"
#include "framework/core/version.h"
#include "framework/distributed/rank_texts.h"
#include "framework/distributed/tcp/start.h"

#include <fmt/core.h>

#include <algorithm>
#include <thread>

namespace learn::tcp {
namespace {

constexpr std::chrono::milliseconds kFirstPause{10};
constexpr std::chrono::milliseconds kLongestPause{500};

/// Connects a rank to rank 0.
class Arrival {
 public:
  Arrival(const Launcher& launcher, std::chrono::milliseconds deadline)
      : launcher_(launcher), deadline_(deadline), until_(after(deadline)) {}

  Star arrive() {
    auto pause = kFirstPause;
    for (;;) {
      Connected connected = connect_to(launcher_.meeting->host, launcher_.meeting->port, until_);
      if (connected.socket.open()) {
        if (auto star = greet(std::move(connected.socket))) return std::move(*star);
        problem_ = "rank 0 closed the connection";
      } else {
        problem_ = std::move(connected.problem);
      }
      if (Clock::now() + pause >= until_) end_wait();
      // Rank 0 may start later, and so may the server of its name.
      std::this_thread::sleep_for(pause);
      pause = std::min(2 * pause, kLongestPause);
    }
  }

 private:
  /// Returns nothing if the connection ends without an answer.
  std::optional<Star> greet(Socket socket) {
    const int ranks = launcher_.ranks.value_or(1);
    Star star;
    star.channels.push_back(std::make_unique<Channel>(std::move(socket)));
    Channel& channel = *star.channels.front();
    channel.queue(Kind::hello,
                  greeting_number(launcher_.rank, ranks),
                  greeting_text(LEARN_VERSION, host_name(), launcher_.meeting->job));
    // Rank 0 sends the names of all hosts.
    channel.trust();
    auto until = until_;
    for (bool asked = false;;) {
      (void)channel.advance();
      if (const auto message = channel.take()) {
        read_answer(*message, star.hosts);
        return star;
      }
      check<RanksError>(channel.foreign().empty(),
                        "{} is not rank 0: {}. Set MASTER_PORT to another port for all processes",
                        endpoint(),
                        channel.foreign());
      if (channel.closed()) return std::nullopt;
      if (Clock::now() >= until) {
        if (asked) {
          problem_ = "it accepted the connection, and did not answer";
          end_wait();
        }
        channel.queue(Kind::late);
        asked = true;
        until = Clock::now() + kAnswerTime;
      }
      wait_for(pointers(star.channels), until);
    }
  }

  void read_answer(const Message& message, std::vector<std::string>& hosts) const {
    check<RanksError>(message.kind != Kind::refusal,
                      "rank 0 at {} refuses this process: {}",
                      endpoint(),
                      message.text);
    check<RanksError>(message.kind == Kind::welcome, "{}", message.text);
    for (std::size_t begin = 0; begin < message.text.size();) {
      const std::size_t end = message.text.find('\n', begin);
      hosts.push_back(message.text.substr(begin, end - begin));
      begin = end + 1;
    }
  }

  [[nodiscard]] std::string endpoint() const {
    return fmt::format("{}:{}", launcher_.meeting->host, launcher_.meeting->port);
  }

  [[noreturn]] void end_wait() const {
    fail<RanksError>(
        "rank 0 did not answer at {} within {}: {}. Start all {} processes with the same "
        "MASTER_ADDR and MASTER_PORT, the host and a free port of rank 0, and let the network pass "
        "this port",
        endpoint(),
        seconds_text(deadline_),
        problem_,
        launcher_.ranks.value_or(1));
  }

  const Launcher& launcher_;
  std::chrono::milliseconds deadline_;
  Clock::time_point until_;
  std::string problem_;  // of the last attempt
};

}  // namespace

Star connect_to_rank_0(const Launcher& launcher, std::chrono::milliseconds deadline) {
  return Arrival(launcher, deadline).arrive();
}

}  // namespace learn::tcp
