#pragma once
#include <cstddef>
#include <string>

namespace learn {

/// How a CUDA context chooses among the algorithms of cuDNN and cuBLAS. Sums are in f32 always.
struct CudaOptions {
  /// Only algorithms that give the same bits in every run.
  bool deterministic = true;
  /// Let the factors of f32 products be rounded to TF32's 10 bits, which tensor cores multiply.
  bool tf32 = false;
  /// Limit of scratch memory, in bytes, for one operation. If all algorithms need more, the
  /// smallest one is used, with a warning.
  std::size_t workspace_limit = std::size_t{512} << 20U;
  /// Time the best candidates of each convolution when it first runs, instead of trusting the
  /// library's guess. Not inside a captured graph.
  bool tune = false;
  /// Folder that keeps the chosen plans of convolutions from run to run; empty: none.
  std::string plan_cache = {};
};

}  // namespace learn
