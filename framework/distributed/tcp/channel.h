#pragma once
#include "framework/distributed/tcp/socket.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace learn::tcp {

using Bytes = std::vector<std::byte>;

/// The kind of a message between rank 0 and another rank.
enum class Kind : std::uint32_t {
  hello = 1,  ///< of a rank that has connected
  refusal,    ///< of rank 0, before it closes the connection; the text says why
  welcome,    ///< of rank 0 to all when all have come; the text has the hosts
  call,       ///< of a rank: it makes a call
  result,     ///< of rank 0, when all have made the same call
  failure,    ///< of rank 0: all throw a RanksError with the text
  late,       ///< of a rank that has waited until its deadline
  end,        ///< ends the process with the number as exit code
};

struct Message {
  Kind kind = Kind::hello;
  std::uint64_t number = 0;
  std::string text{};
  Bytes data{};
};

/// The first bytes of each message. Other versions of the protocol keep the first two members.
struct Header {
  std::array<char, 8> magic{'l', 'e', 'a', 'r', 'n', 'T', 'C', 'P'};
  std::uint32_t protocol = 1;
  std::uint32_t kind = 0;
  std::uint64_t number = 0;
  std::uint64_t text_bytes = 0;
  std::uint64_t data_bytes = 0;
};

/// Messages over a socket, without waiting.
class Channel {
 public:
  explicit Channel(Socket socket) : socket_(std::move(socket)) {}

  [[nodiscard]] int descriptor() const noexcept { return socket_.descriptor(); }
  /// Adds a message to those that `advance` sends.
  void queue(Kind kind,
             std::uint64_t number = 0,
             std::string_view text = {},
             std::shared_ptr<const Bytes> data = {});
  /// Sends and receives as many bytes as the system takes and has. Returns whether there were any.
  bool advance();
  /// The oldest message that was received and not taken.
  [[nodiscard]] std::optional<Message> take();

  /// Whether messages wait to be sent.
  [[nodiscard]] bool sending() const noexcept { return !unsent_.empty() && !closed_; }
  /// Whether a message has come in part.
  [[nodiscard]] bool receiving() const noexcept { return filled_ > 0; }
  /// Bytes that have come.
  [[nodiscard]] std::uint64_t received() const noexcept { return received_; }
  /// Whether the other process has ended, or its host is lost. All that came from it can be taken.
  [[nodiscard]] bool closed() const noexcept { return closed_; }
  /// The reason if the other process does not speak this protocol; otherwise empty.
  [[nodiscard]] const std::string& foreign() const noexcept { return foreign_; }
  /// From now on messages may be longer than a greeting.
  void trust() noexcept { trusted_ = true; }

 private:
  bool send_some();
  bool receive_some();
  /// The bytes that are to be filled next, of the header, the text or the data.
  [[nodiscard]] std::span<std::byte> place();
  void check_header();

  Socket socket_;
  std::deque<std::shared_ptr<const Bytes>> unsent_;
  std::size_t sent_ = 0;  // of the first of them
  Header header_;
  Message message_;         // the one that is received
  std::size_t filled_ = 0;  // bytes of its header, text and data
  std::deque<Message> taken_;
  std::uint64_t received_ = 0;
  bool closed_ = false;
  bool trusted_ = false;
  std::string foreign_;
};

/// The channels that are not null.
[[nodiscard]] std::vector<const Channel*> pointers(
    std::span<const std::unique_ptr<Channel>> channels);

/// Waits until one of the channels can advance, or `socket` has a connection to accept; until
/// `until` at most, and not longer than a second.
void wait_for(const std::vector<const Channel*>& channels,
              Clock::time_point until,
              const Socket& socket = {});

/// Sends all that is queued, until `until` at most.
void send_queued(std::span<const std::unique_ptr<Channel>> channels, Clock::time_point until);

}  // namespace learn::tcp
