#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace learn::mpi {

/// "Open MPI 4.1.4" or "MPICH 4.0.2" from the text of MPI_Get_library_version; the start of its
/// first line for other libraries.
[[nodiscard]] std::string library_name(std::string_view version);

/// "rank 1 (nodeb), rank 3 (noded)" for ranks and the hosts of all; the number of the rest after
/// eight.
[[nodiscard]] std::string ranks_text(const std::vector<int>& ranks,
                                     std::span<const std::string> hosts);

}  // namespace learn::mpi
