#include "framework/distributed/tcp/socket.h"

#include "framework/core/error.h"

#include <fmt/core.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <string_view>
#include <system_error>

namespace learn::tcp {
namespace {

constexpr std::chrono::seconds kConnectTime{5};  // for one of several addresses

std::string error_text(int code) { return std::generic_category().message(code); }

Socket new_socket(int family) {
  return Socket(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

void set(const Socket& socket, int level, int option, int value) {
  (void)::setsockopt(socket.descriptor(), level, option, &value, sizeof value);
}

/// Sends small messages at once, and notices within 30 s that the other host is lost.
void tune(const Socket& socket) {
  set(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  set(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(socket, IPPROTO_TCP, TCP_KEEPIDLE, 10);
  set(socket, IPPROTO_TCP, TCP_KEEPINTVL, 5);
  set(socket, IPPROTO_TCP, TCP_KEEPCNT, 4);
}

template <class Address>
bool bind_to(const Socket& socket, const Address& address) {
  return ::bind(socket.descriptor(), reinterpret_cast<const sockaddr*>(&address), sizeof address) ==
         0;
}

/// A socket bound to all addresses of IPv6 and IPv4, or of IPv4 alone if the host has no IPv6.
Socket bound_to(int port) {
  const auto network_port = htons(static_cast<std::uint16_t>(port));
  Socket socket = new_socket(AF_INET6);
  if (socket.open()) {
    set(socket, SOL_SOCKET, SO_REUSEADDR, 1);
    set(socket, IPPROTO_IPV6, IPV6_V6ONLY, 0);
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    address.sin6_addr = in6addr_any;
    address.sin6_port = network_port;
    if (bind_to(socket, address)) return socket;
    if (errno != EADDRNOTAVAIL) return {};
  }
  socket = new_socket(AF_INET);
  if (!socket.open()) return {};
  set(socket, SOL_SOCKET, SO_REUSEADDR, 1);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  address.sin_port = network_port;
  if (bind_to(socket, address)) return socket;
  return {};
}

std::string address_text(const sockaddr* address, socklen_t length) {
  std::array<char, 64> host{};
  constexpr int kNumeric = NI_NUMERICHOST;
  if (::getnameinfo(address, length, host.data(), host.size(), nullptr, 0, kNumeric) != 0)
    return "an unknown address";
  // IPv4 at a socket of IPv6
  constexpr std::string_view kMapped = "::ffff:";
  const std::string_view text(host.data());
  return std::string(text.starts_with(kMapped) ? text.substr(kMapped.size()) : text);
}

/// Connects to one address. Returns 0, or the error of the system.
int connect_one(const Socket& socket, const addrinfo& address, Clock::time_point until) {
  if (::connect(socket.descriptor(), address.ai_addr, address.ai_addrlen) == 0) return 0;
  if (errno != EINPROGRESS && errno != EINTR) return errno;
  pollfd wait{.fd = socket.descriptor(), .events = POLLOUT, .revents = 0};
  while (::poll(&wait, 1, poll_time(until)) <= 0)
    if (Clock::now() >= until) return ETIMEDOUT;
  int error = 0;
  socklen_t length = sizeof error;
  (void)::getsockopt(socket.descriptor(), SOL_SOCKET, SO_ERROR, &error, &length);
  return error;
}

}  // namespace

Clock::time_point after(std::chrono::milliseconds time) {
  return time.count() == 0 ? Clock::time_point::max() : Clock::now() + time;
}

int poll_time(Clock::time_point until) {
  using namespace std::chrono;
  const auto now = Clock::now();
  if (until <= now) return 0;
  if (until - now > seconds(1)) return 1000;
  return static_cast<int>(ceil<milliseconds>(until - now).count());
}

Socket::~Socket() {
  if (open()) (void)::close(descriptor_);
}

Socket listen_at(int port) {
  Socket socket = bound_to(port);
  if (socket.open() && ::listen(socket.descriptor(), SOMAXCONN) == 0) return socket;
  const int code = errno;
  check<UsageError>(code != EADDRINUSE,
                    "rank 0 cannot listen at port {}: another program, or another job, listens "
                    "there. Set MASTER_PORT to another port for all processes (torchrun: "
                    "--master-port or --rdzv-endpoint)",
                    port);
  fail<UsageError>(
      "rank 0 cannot listen at port {}: {}. Set MASTER_PORT to another port for all processes",
      port,
      error_text(code));
}

Accepted accept_at(const Socket& listener) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  auto* const place = reinterpret_cast<sockaddr*>(&address);
  Socket socket(::accept4(listener.descriptor(), place, &length, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (socket.open()) {
    tune(socket);
    return {std::move(socket), address_text(place, length)};
  }
  const int code = errno;
  check<RanksError>(code != EMFILE && code != ENFILE && code != ENOMEM && code != ENOBUFS,
                    "rank 0 cannot accept a connection: {}. Raise the limit of open files "
                    "('ulimit -n')",
                    error_text(code));
  return {};  // others are the connection's, which has ended already
}

Connected connect_to(const std::string& host, int port, Clock::time_point until) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int code = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (code != 0) return {{}, fmt::format("'{}' has no address: {}", host, ::gai_strerror(code))};
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> addresses(found, ::freeaddrinfo);
  std::string problem;
  for (const addrinfo* a = addresses.get(); a != nullptr; a = a->ai_next) {
    Socket socket = new_socket(a->ai_family);
    if (!socket.open()) {
      problem = error_text(errno);
      continue;
    }
    const int error = connect_one(socket, *a, std::min(until, Clock::now() + kConnectTime));
    if (error == 0) {
      tune(socket);
      return {std::move(socket), {}};
    }
    problem = fmt::format("{}: {}", address_text(a->ai_addr, a->ai_addrlen), error_text(error));
  }
  return {{}, problem};
}

}  // namespace learn::tcp
