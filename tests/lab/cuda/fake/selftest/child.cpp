#include "tests/lab/cuda/fake/selftest/child.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

namespace fakecuda::selftest {
namespace {

[[noreturn]] void be_child(const std::function<int()>& body,
                           const std::string& schedule,
                           bool through_exit,
                           int err) {
  // No core file and no handler of the test framework: a signal just ends the child.
  for (const int signal : {SIGSEGV, SIGBUS, SIGABRT}) std::signal(signal, SIG_DFL);
  dup2(err, STDERR_FILENO);
  setenv("FAKE_CUDA_STREAMS", schedule.c_str(), 1);
  const int status = body();
  std::fflush(stderr);
  if (through_exit) std::exit(status);
  _exit(status);
}

struct Child {
  pid_t process = -1;
  int text = -1;  ///< end of the pipe that it writes to
};

Child start(const std::function<int()>& body, const std::string& schedule, bool through_exit) {
  int ends[2];
  std::fflush(stdout);
  std::fflush(stderr);
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("no child process");
  if (child == 0) {
    close(ends[0]);
    be_child(body, schedule, through_exit, ends[1]);
  }
  close(ends[1]);
  return {child, ends[0]};
}

Outcome finish(const Child& child) {
  Outcome outcome;
  char buffer[4096];
  for (ssize_t n = 0; (n = read(child.text, buffer, sizeof(buffer))) > 0;)
    outcome.text.append(buffer, static_cast<std::size_t>(n));
  close(child.text);
  int status = 0;
  waitpid(child.process, &status, 0);
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return outcome;
}

}  // namespace

Outcome in_child(const std::function<int()>& body, const std::string& schedule, bool through_exit) {
  return finish(start(body, schedule, through_exit));
}

std::vector<Outcome> in_children(int children,
                                 const std::function<int(int)>& body,
                                 const std::string& schedule) {
  std::vector<Child> started;
  started.reserve(static_cast<std::size_t>(children));
  for (int i = 0; i < children; ++i)
    started.push_back(start([&] { return body(i); }, schedule, false));
  std::vector<Outcome> outcomes;
  outcomes.reserve(started.size());
  for (const Child& child : started) outcomes.push_back(finish(child));
  return outcomes;
}

}  // namespace fakecuda::selftest
