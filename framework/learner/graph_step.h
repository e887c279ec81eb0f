#pragma once
#include "framework/learner/loop_state.h"
#include "framework/runtime/captured_work.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace learn {

/// The action of a GraphStep.
struct GraphStepCounts {
  std::int64_t eager = 0;      ///< batches whose operations were enqueued one by one
  std::int64_t captured = 0;   ///< graphs made, each done once when it was made
  std::int64_t replayed = 0;   ///< batches that were one launch
  std::size_t operations = 0;  ///< kernels, copies and fills in the newest graph
  std::size_t memory = 0;      ///< peak step memory of the graphs, in bytes
};

/// Runs the body of a training batch as one CUDA graph (DESIGN: memory, streams, graphs). A batch
/// whose x and targets of the loss have the addresses, shapes and dtypes of an earlier one, with
/// the same first row and number of samples, is a replay. The first `warm_up` batches of each such
/// kind run eagerly, so that memory, plans and handles exist; the next is captured. All of them use
/// a separate arena, so that their addresses are not used in between. Several ranks agree on a
/// replay as on any batch; the sums over ranks are part of the graph.
///
/// Values that change from step to step are in device memory: hyper-parameters, the control block
/// and the batch's number, which are uploaded before each replay. Handlers of the events within the
/// body are not called in a replay. Results of the batch (prediction, loss) are copied out of the
/// graphs' memory, so that a callback may keep them. A change of the trained parameters, or of an
/// option that is passed by value (`Learner::captured_options`), drops all graphs. A capture that
/// fails is logged once, and the rest runs eagerly.
class GraphStep final : public StepRunner {
 public:
  static constexpr std::int64_t kWarmUp = 2;
  /// Graphs that are kept. Batches at more addresses than that are not worth capturing.
  static constexpr std::size_t kMaxGraphs = 16;

  /// Counts into `counts`, which must outlive it. Throws DeviceError for a context on the CPU.
  GraphStep(Context& ctx, GraphStepCounts& counts, std::int64_t warm_up = kWarmUp);
  void run(Learner& learn, FunctionRef<bool()> body) override;

 private:
  /// Address, shape and dtype of an operand.
  struct Place {
    const std::byte* at = nullptr;
    Shape shape{};
    DType dtype = DType::f32;
    bool operator==(const Place&) const = default;
  };
  /// One kind of batch.
  struct Kind {
    Place x, y;
    std::int64_t first = 0;    ///< of the batch: random numbers depend on it
    std::int64_t samples = 0;  ///< of all ranks: the weight of a share depends on it
    std::int64_t warm_ups = 0;
    std::optional<CapturedWork> work{};
    Tensor pred{}, loss{},
        weight{};  ///< what the work leaves; held, so that they keep their addresses
  };

  [[nodiscard]] static Place place_of(const Tensor& operand);
  [[nodiscard]] Kind* kind_of(const Batch& batch);
  void forget_if_changed(const Learner& learn);
  void run_eagerly(Kind& kind, FunctionRef<bool()> body);
  void capture(Kind& kind, Learner& learn, FunctionRef<bool()> body);
  void replay(const Kind& kind, Learner& learn);
  /// Gives the batch its prediction and loss in memory that no replay writes to.
  void hand_over(Learner& learn,
                 const Tensor& pred,
                 const Tensor& loss,
                 const Tensor& weight,
                 Outcome outcome);
  void fall_back_to_eager(std::string_view why);

  Context& ctx_;
  GraphStepCounts& counts_;
  std::int64_t warm_up_;
  std::unique_ptr<Arena> arena_;
  std::vector<Kind> kinds_;
  std::vector<double> options_;  // what the graphs have in them
  bool eager_only_ = false;
};

}  // namespace learn
