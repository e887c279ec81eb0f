#pragma once
#include <chrono>
#include <string>
#include <utility>

namespace learn::tcp {

using Clock = std::chrono::steady_clock;

/// `time` from now; 0: never.
[[nodiscard]] Clock::time_point after(std::chrono::milliseconds time);
/// The time until then for poll(), in milliseconds: 0 to 1000.
[[nodiscard]] int poll_time(Clock::time_point until);

/// A socket that does not block, or none.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  ~Socket();

  [[nodiscard]] bool open() const noexcept { return descriptor_ >= 0; }
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }

 private:
  int descriptor_ = -1;
};

/// A connection that another process made.
struct Accepted {
  Socket socket;     ///< not open: nothing to accept
  std::string from;  ///< its address
};

/// Listens at all addresses of this host. Throws UsageError if the port is in use or reserved.
[[nodiscard]] Socket listen_at(int port);
/// Accepts a connection, without waiting. Throws RanksError if the system fails.
[[nodiscard]] Accepted accept_at(const Socket& listener);

/// A connection that this process made, or the reason why it failed.
struct Connected {
  Socket socket;
  std::string problem;
};

/// Connects to the first of the host's addresses that accepts. Waits until `until` at most, and in
/// addition while the system looks up the addresses.
[[nodiscard]] Connected connect_to(const std::string& host, int port, Clock::time_point until);

}  // namespace learn::tcp
