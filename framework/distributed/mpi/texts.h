#pragma once
#include <string>
#include <string_view>

namespace learn::mpi {

/// "Open MPI 4.1.4" or "MPICH 4.0.2" from the text of MPI_Get_library_version; the start of its
/// first line for other libraries.
[[nodiscard]] std::string library_name(std::string_view version);

}  // namespace learn::mpi
