// A library in the place of liblearn_mpi.so: it has STAND_IN_VERSION, and opens no communicator.
#include "framework/distributed/communicator_library.h"

extern "C" [[gnu::visibility("default")]] const char* learn_mpi_attach(
    const std::shared_ptr<void>&);

const char* learn_mpi_attach(const std::shared_ptr<void>&) { return STAND_IN_VERSION; }
