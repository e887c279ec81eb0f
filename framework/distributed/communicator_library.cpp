#include "framework/distributed/communicator_library.h"

#include "framework/core/error.h"
#include "framework/core/log.h"
#include "framework/core/plugin_file.h"
#include "framework/core/version.h"
#include "framework/distributed/tcp/tcp_communicator.h"

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

/// The library, loaded, or why it cannot be.
struct Library {
  std::string file;
  void* handle = nullptr;
  std::string problem{};
};

Library load() {
  Library library{plugin_file(kName, LEARN_MPI_LIBRARY)};
  library.handle = dlopen(library.file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library.handle != nullptr) return library;
  const std::string reason = dlerror();
  library.problem =
      library.file == kName && reason.rfind(kName, 0) == 0
          ? "this program was built without MPI: install libopenmpi-dev and build again"
          : fmt::format(
                "{} cannot be loaded: {}. Install the MPI that it was built with", kName, reason);
  return library;
}

/// Throws UsageError for a library of another version.
void attach(const Library& library) {
  const std::string_view version =
      function_in<AttachMpiLibrary>(library.handle, library.file, "learn_mpi_attach")(log::share());
  check<UsageError>(version == LEARN_VERSION,
                    "{} has version {}, but this program has {}: install the one that was built "
                    "with it",
                    library.file,
                    version,
                    LEARN_VERSION);
}

}  // namespace

MpiReport mpi_report() {
  const Library library = load();
  MpiReport report{.file = library.file, .reason = library.problem};
  if (library.handle == nullptr) return report;
  try {
    attach(library);
    function_in<NameMpiLibrary>(library.handle, library.file, "learn_mpi_name")(report.library);
  } catch (const Error& error) {
    report.reason = error.what();
  }
  return report;
}

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
  if (launcher.meeting) return std::make_unique<tcp::TcpCommunicator>(launcher, options);
  const Library library = load();
  if (library.handle == nullptr)
    fail<UsageError>(
        "started by {}, but {}, or start one process", launcher.text(), library.problem);
  attach(library);
  std::unique_ptr<Communicator> opened;
  function_in<OpenMpiCommunicator>(library.handle, library.file, "learn_mpi_open")(
      launcher, options, opened);
  return opened;
}

}  // namespace learn
