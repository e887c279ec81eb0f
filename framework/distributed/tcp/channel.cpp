#include "framework/distributed/tcp/channel.h"

#include <fmt/core.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace learn::tcp {
namespace {

constexpr std::size_t kJoined = 65536;  // bytes of data that are sent with their header
constexpr std::uint64_t kMaxGreeting = 4096;

bool try_again(int code) { return code == EAGAIN || code == EWOULDBLOCK || code == EINTR; }

}  // namespace

void Channel::queue(Kind kind,
                    std::uint64_t number,
                    std::string_view text,
                    std::shared_ptr<const Bytes> data) {
  const std::size_t size = data ? data->size() : 0;
  const Header header{.kind = static_cast<std::uint32_t>(kind),
                      .number = number,
                      .text_bytes = text.size(),
                      .data_bytes = size};
  auto first = std::make_shared<Bytes>();
  const auto add = [&](std::span<const std::byte> bytes) {
    first->insert(first->end(), bytes.begin(), bytes.end());
  };
  add(std::as_bytes(std::span(&header, 1)));
  add(std::as_bytes(std::span(text)));
  const bool joined = size <= kJoined;
  if (joined && data) add(*data);
  unsent_.push_back(std::move(first));
  if (!joined) unsent_.push_back(std::move(data));
}

bool Channel::advance() {
  if (closed_) return false;
  const bool sent = send_some();
  const bool received = receive_some();
  return sent || received;
}

bool Channel::send_some() {
  bool moved = false;
  while (!unsent_.empty()) {
    const Bytes& bytes = *unsent_.front();
    const ssize_t count =
        ::send(descriptor(), bytes.data() + sent_, bytes.size() - sent_, MSG_NOSIGNAL);
    // The other's last messages may still have to be read, and then the end of the connection.
    if (count < 0) break;
    moved = true;
    sent_ += static_cast<std::size_t>(count);
    if (sent_ < bytes.size()) continue;
    unsent_.pop_front();
    sent_ = 0;
  }
  return moved;
}

std::span<std::byte> Channel::place() {
  std::size_t begin = filled_;
  for (const std::span<std::byte> part : {std::as_writable_bytes(std::span(&header_, 1)),
                                          std::as_writable_bytes(std::span(message_.text)),
                                          std::span<std::byte>(message_.data)}) {
    if (begin < part.size()) return part.subspan(begin);
    begin -= part.size();
  }
  return {};
}

void Channel::check_header() {
  const Header expected;
  const std::size_t known = std::min(filled_, expected.magic.size());
  if (std::memcmp(header_.magic.data(), expected.magic.data(), known) != 0)
    foreign_ = "it is another program";
  if (filled_ < sizeof header_) return;
  if (foreign_.empty() && header_.protocol != expected.protocol)
    foreign_ = fmt::format("it speaks version {} of the protocol, this process version {}",
                           header_.protocol,
                           expected.protocol);
  if (foreign_.empty() && !trusted_ &&
      (header_.text_bytes > kMaxGreeting || header_.data_bytes > kMaxGreeting))
    foreign_ = "its greeting is too long";
  if (!foreign_.empty()) return;
  message_ = {.kind = static_cast<Kind>(header_.kind), .number = header_.number};
  message_.text.resize(header_.text_bytes);
  message_.data.resize(header_.data_bytes);
}

bool Channel::receive_some() {
  bool moved = false;
  while (foreign_.empty()) {
    const std::span<std::byte> free = place();
    const ssize_t count = ::recv(descriptor(), free.data(), free.size(), 0);
    if (count < 0 && try_again(errno)) return moved;
    if (count <= 0) {
      closed_ = true;
      return moved;
    }
    moved = true;
    const bool in_header = filled_ < sizeof header_;
    filled_ += static_cast<std::size_t>(count);
    received_ += static_cast<std::uint64_t>(count);
    if (in_header) check_header();
    if (filled_ < sizeof header_ || !foreign_.empty()) continue;
    if (!place().empty()) continue;
    taken_.push_back(std::move(message_));
    message_ = {};
    filled_ = 0;
  }
  return moved;
}

std::optional<Message> Channel::take() {
  if (taken_.empty()) return std::nullopt;
  Message first = std::move(taken_.front());
  taken_.pop_front();
  return first;
}

std::vector<const Channel*> pointers(std::span<const std::unique_ptr<Channel>> channels) {
  std::vector<const Channel*> all;
  for (const auto& channel : channels)
    if (channel) all.push_back(channel.get());
  return all;
}

void wait_for(const std::vector<const Channel*>& channels,
              Clock::time_point until,
              const Socket& socket) {
  std::vector<pollfd> waits;
  for (const Channel* const channel : channels) {
    if (channel->closed()) continue;
    const short events = channel->sending() ? POLLIN | POLLOUT : POLLIN;
    waits.push_back({.fd = channel->descriptor(), .events = events, .revents = 0});
  }
  if (socket.open()) waits.push_back({.fd = socket.descriptor(), .events = POLLIN, .revents = 0});
  (void)::poll(waits.data(), waits.size(), poll_time(until));
}

void send_queued(std::span<const std::unique_ptr<Channel>> channels, Clock::time_point until) {
  for (;;) {
    bool sending = false;
    for (const auto& channel : channels) {
      if (!channel) continue;
      (void)channel->advance();
      sending = sending || channel->sending();
    }
    if (!sending || Clock::now() >= until) return;
    wait_for(pointers(channels), until);
  }
}

}  // namespace learn::tcp
