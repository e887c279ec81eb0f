#pragma once
#include "framework/runtime/context.h"
#include "framework/tensor/tensor.h"

namespace learn {

/// Exchange between ranks, the processes that train one model together, in the middle of a forward
/// or backward pass. `ops::batch_norm` uses it to normalize the samples of all ranks as one batch.
///
/// Every rank must come to every exchange. So all ranks run the same operations in the same order,
/// with the same mode, dtypes and frozen layers, and all or none of them call `Tape::backward`;
/// only the number of samples may differ. A rank without samples takes part, too.
class RankGather {
 public:
  virtual ~RankGather() = default;
  /// Returns the number of ranks, at least 1.
  [[nodiscard]] virtual int ranks() const = 0;
  /// Returns the rank of this process, 0 to ranks() - 1.
  [[nodiscard]] virtual int rank() const = 0;
  /// Fills `all` (ranks, n) with `mine` (n) of every rank, in the order of ranks. Both are f32 or
  /// f64, and on the device of the context, whose stream orders the exchange among other work.
  virtual void gather(Context& ctx, const Tensor& mine, Tensor& all) = 0;
};

}  // namespace learn
