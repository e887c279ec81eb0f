#include "tests/lab/cuda/fake/selftest/child.h"

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

}  // namespace

Outcome in_child(const std::function<int()>& body, const std::string& schedule, bool through_exit) {
  int ends[2];
  std::fflush(stdout);
  std::fflush(stderr);
  if (pipe(ends) != 0) throw std::runtime_error("no pipe");
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("no child process");
  if (child == 0) {
    close(ends[0]);
    be_child(body, schedule, through_exit, ends[1]);
  }
  close(ends[1]);
  Outcome outcome;
  char buffer[4096];
  for (ssize_t n = 0; (n = read(ends[0], buffer, sizeof(buffer))) > 0;)
    outcome.text.append(buffer, static_cast<std::size_t>(n));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return outcome;
}

}  // namespace fakecuda::selftest
