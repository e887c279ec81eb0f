#include "framework/core/error.h"
#include "framework/distributed/communicator_library.h"
#include "tests/distributed/mpi/world.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <vector>

namespace {

std::unique_ptr<learn::Communicator>& communicator() {
  static std::unique_ptr<learn::Communicator> opened;
  return opened;
}

int run(int argc, char** argv) {
  const std::optional<learn::Launcher> launcher = learn::find_launcher();
  if (!launcher) {
    // Mutation testing runs each program by itself.
    for (const char* const name : {"OMPI_ALLOW_RUN_AS_ROOT",
                                   "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM",
                                   "OMPI_MCA_rmaps_base_oversubscribe"})
      (void)setenv(name, "1", 1);
    std::vector<const char*> words{"mpirun", "-n", "3"};
    words.insert(words.end(), argv, argv + argc);
    words.push_back(nullptr);
    (void)execvp(words[0], const_cast<char**>(words.data()));
    std::puts("skipped: there is no mpirun");
    return 77;
  }
  // Three ranks divide long messages.
  const std::size_t bytes = launcher->ranks == 3 ? std::size_t{1} << 16U : std::size_t{1} << 30U;
  communicator() = learn::open_communicator(
      *launcher, {.deadline = std::chrono::seconds(60), .max_message_bytes = bytes});
  const int failed = doctest::Context(argc, argv).run();
  communicator().reset();
  return failed;
}

}  // namespace

learn::Communicator& learn::testing::world() { return *communicator(); }

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const learn::Error& error) {
    (void)std::fprintf(stderr, "error: %s\n", error.what());
    return static_cast<int>(error.exit_code());
  }
}
