#pragma once
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstddef>
#include <fstream>
#include <stdexcept>

namespace learn::test {

/// While it lives, the system starts `threads` more threads and refuses the next. It is done by the
/// address space, which applies to every user: each new thread has a stack so large that only this
/// number fits.
class ThreadLimit {
 public:
  explicit ThreadLimit(int threads) {
    getrlimit(RLIMIT_AS, &old_limit_);
    pthread_attr_t large;
    pthread_attr_init(&large);
    if (pthread_getattr_default_np(&old_stack_) != 0 ||
        pthread_attr_setstacksize(&large, kStack) != 0 || pthread_setattr_default_np(&large) != 0)
      throw std::runtime_error("no threads with large stacks");
    pthread_attr_destroy(&large);
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const auto used = pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const rlimit limit{used + static_cast<std::size_t>(threads) * kStack + kStack / 2,
                       old_limit_.rlim_max};
    if (setrlimit(RLIMIT_AS, &limit) != 0) throw std::runtime_error("no limit of memory");
  }
  ~ThreadLimit() {
    setrlimit(RLIMIT_AS, &old_limit_);
    pthread_setattr_default_np(&old_stack_);
    pthread_attr_destroy(&old_stack_);
  }
  ThreadLimit(const ThreadLimit&) = delete;
  ThreadLimit& operator=(const ThreadLimit&) = delete;

 private:
  static constexpr std::size_t kStack = std::size_t{1} << 30U;
  rlimit old_limit_{};
  pthread_attr_t old_stack_{};
};

}  // namespace learn::test
