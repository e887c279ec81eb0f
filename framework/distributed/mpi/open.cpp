#include "framework/core/log.h"
#include "framework/core/version.h"
#include "framework/distributed/communicator_library.h"
#include "framework/distributed/mpi/mpi_communicator.h"
#include "framework/distributed/mpi/session.h"

#include <type_traits>

extern "C" {
[[gnu::visibility("default")]] const char* learn_mpi_attach(const std::shared_ptr<void>& log);
[[gnu::visibility("default")]] void learn_mpi_name(std::string& name);
[[gnu::visibility("default")]] void learn_mpi_open(const learn::Launcher& launcher,
                                                   const learn::CommunicatorOptions& options,
                                                   std::unique_ptr<learn::Communicator>& opened);
}

const char* learn_mpi_attach(const std::shared_ptr<void>& log) {
  static_assert(std::is_same_v<decltype(learn_mpi_attach), learn::AttachMpiLibrary>);
  learn::log::adopt(log);
  return LEARN_VERSION;
}

void learn_mpi_name(std::string& name) {
  static_assert(std::is_same_v<decltype(learn_mpi_name), learn::NameMpiLibrary>);
  name = learn::mpi::mpi_name();
}

void learn_mpi_open(const learn::Launcher& launcher,
                    const learn::CommunicatorOptions& options,
                    std::unique_ptr<learn::Communicator>& opened) {
  static_assert(std::is_same_v<decltype(learn_mpi_open), learn::OpenMpiCommunicator>);
  opened = std::make_unique<learn::mpi::MpiCommunicator>(launcher, options);
}
