#include "framework/distributed/communicator_library.h"

#include "framework/core/error.h"
#include "framework/core/log.h"
#include "framework/core/plugin_file.h"
#include "framework/core/version.h"

#include <dlfcn.h>

#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

namespace learn {
namespace {

constexpr const char* kName = "liblearn_mpi.so";

template <class Function>
Function* function_in(void* library, const std::string& file, const char* symbol) {
  void* const found = dlsym(library, symbol);
  check<UsageError>(found != nullptr,
                    "{} has no {}: it is not the library of this program. Install the one that was "
                    "built with it",
                    file,
                    symbol);
  return reinterpret_cast<Function*>(found);
}

std::unique_ptr<Communicator>& kept_communicator() {
  static std::unique_ptr<Communicator> kept;
  return kept;
}

}  // namespace

Communicator* ranks_of_process(const CommunicatorOptions& options) {
  std::unique_ptr<Communicator>& kept = kept_communicator();
  if (kept != nullptr) return kept.get();
  const std::optional<Launcher> launcher = find_launcher();
  if (!launcher || !launcher->several()) return nullptr;
  kept = open_communicator(*launcher, options);
  // Before the log and others that it uses are destroyed, as they existed already.
  (void)std::atexit(leave_ranks);
  return kept.get();
}

void leave_ranks() { kept_communicator().reset(); }

std::unique_ptr<Communicator> open_communicator(const Launcher& launcher,
                                                const CommunicatorOptions& options) {
  const std::string file = plugin_file(kName, LEARN_MPI_LIBRARY);
  void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const std::string reason = dlerror();
    if (file == kName && reason.rfind(kName, 0) == 0)
      fail<UsageError>(
          "started by {}, but this program was built without MPI: install libopenmpi-dev and build "
          "again, or start one process",
          launcher.text());
    fail<UsageError>(
        "started by {}, but {} cannot be loaded: {}. Install the MPI that it was built with, or "
        "start one process",
        launcher.text(),
        kName,
        reason);
  }
  const std::string_view version =
      function_in<AttachMpiLibrary>(library, file, "learn_mpi_attach")(log::share());
  check<UsageError>(version == LEARN_VERSION,
                    "{} has version {}, but this program has {}: install the one that was built "
                    "with it",
                    file,
                    version,
                    LEARN_VERSION);
  std::unique_ptr<Communicator> opened;
  function_in<OpenMpiCommunicator>(library, file, "learn_mpi_open")(launcher, options, opened);
  return opened;
}

}  // namespace learn
