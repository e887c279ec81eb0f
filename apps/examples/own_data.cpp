// Custom data that are in neither a file nor an array: a source that makes each batch on demand. Is
// the mean of four numbers above one half?
#include "framework/core/random.h"
#include "framework/learner/learner.h"
#include "framework/nn/layers.h"
#include "framework/runtime/transfer.h"
#include "framework/tensor/host_tensor.h"

#include <vector>

using namespace learn;

class Numbers final : public BatchSource {
 public:
  Numbers(Context& ctx, std::int64_t batches, std::uint64_t seed)
      : ctx_(ctx), batches_(batches), seed_(seed) {}
  std::int64_t batches() const override { return batches_; }
  std::int64_t samples() const override { return batches_ * kSize; }
  Shape sample_shape() const override { return {4}; }
  int classes() const override { return 2; }

  void begin(std::int64_t epoch) override { next_ = epoch * samples(), end_ = next_ + samples(); }
  bool next(Batch& batch) override {
    if (next_ == end_) return false;
    std::vector<float> x;
    std::vector<std::int64_t> y;
    for (std::int64_t i = 0; i < kSize; ++i, ++next_) {
      // A function of its number, so each run has the same samples, and each epoch new ones.
      const auto draw = random4(seed_, RandomPurpose::test, 0, static_cast<std::uint64_t>(next_));
      float sum = 0;
      for (const std::uint32_t word : draw.v) sum += x.emplace_back(uniform01(word));
      y.push_back(sum > 2 ? 1 : 0);
    }
    batch.x = to_device(ctx_, ctx_.step(), host_tensor<float>({kSize, 4}, x));
    batch.y = to_device(ctx_, ctx_.step(), host_tensor<std::int64_t>({kSize}, y));
    return true;
  }

 private:
  static constexpr std::int64_t kSize = 64;
  Context& ctx_;
  std::int64_t batches_, next_ = 0, end_ = 0;
  std::uint64_t seed_;
};

int main() {
  Context ctx;
  Numbers train(ctx, 100, 1), valid(ctx, 20, 2);
  auto model = nn::make_model<nn::Linear>("mean", train.sample_shape(), train.classes(), 4, 2);
  Learner learn(ctx, std::move(model), {train, valid}, {.metrics = {metrics::accuracy()}});
  learn.fit(4, 1.0F);
}
