#pragma once
#include "framework/distributed/launcher.h"
#include "framework/runtime/cuda_report.h"

#include <cstddef>
#include <optional>
#include <span>
#include <string>

namespace learn::cli {

/// The GPUs of the ranks of this host, and of this process if a launcher gave its number: "up to 8
/// on this host: cuda:0 to cuda:7". Never throws.
[[nodiscard]] std::string gpu_ranks_text(std::size_t devices,
                                         const std::optional<Launcher>& launcher);

/// The links between GPUs: "cuda:0-3, cuda:4-7: NVLink (...); all others: PCIe (...)". Pairs of the
/// same kind are joined to groups within which each pair has such a link. CUDA does not name the
/// kind: a link with atomics in hardware counts as NVLink. Empty without links.
[[nodiscard]] std::string gpu_links_text(std::span<const CudaLink> links);

}  // namespace learn::cli
