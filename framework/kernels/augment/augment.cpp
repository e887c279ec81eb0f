#include "framework/kernels/augment/augment.h"

#include "framework/kernels/augment/augment_reference.h"
#include "framework/runtime/dispatch.h"

#include <type_traits>

namespace learn::kernels {
namespace {

constexpr std::string_view kOp = "augment";

void check_tensor(const Context& ctx,
                  std::string_view what,
                  const Tensor& tensor,
                  const Shape& shape,
                  DType dtype) {
  check(tensor.shape() == shape, "augment: {} are {}, not {}", what, tensor.shape(), shape);
  check<DTypeError>(
      tensor.dtype() == dtype, "augment: {} must be {}, not {}", what, dtype, tensor.dtype());
  check_device(ctx, kOp, tensor);
}

void check_operands(const Context& ctx,
                    const AugmentPlan& plan,
                    const AugmentSource& source,
                    const Tensor& index,
                    const Tensor& x,
                    const Tensor& y) {
  check(source.images.shape().rank() == 4 && index.shape().rank() == 1 && x.shape().rank() == 4,
        "augment: images {}, index {} and result {} must have 4, 1 and 4 dimensions",
        source.images.shape(),
        index.shape(),
        x.shape());
  const std::int64_t samples = source.images.shape()[0];
  const std::int64_t batch = index.shape()[0];
  const std::int64_t channels = x.shape()[3];
  check(
      plan.channels >= 1 && plan.channels <= AugmentPlan::kMaxChannels && channels >= plan.channels,
      "augment: a result of {} channels from images of {}; they may have up to {}",
      channels,
      plan.channels,
      AugmentPlan::kMaxChannels);
  check_tensor(
      ctx, "images", source.images, {samples, plan.height, plan.width, plan.channels}, DType::u8);
  const DType target = source.targets.dtype();
  check<DTypeError>(target == DType::i64 || target == DType::f32,
                    "augment: targets must be i64 or f32, not {}",
                    target);
  Shape of_batch = source.targets.shape();
  check(of_batch.rank() == (target == DType::i64 ? 1 : 2) && of_batch[0] == samples,
        "augment: targets {} for {} images",
        of_batch,
        samples);
  of_batch.set(0, batch);
  check_device(ctx, kOp, source.targets);
  check_tensor(ctx, "indices", index, {batch}, DType::i64);
  check_tensor(ctx, "targets of the batch", y, of_batch, target);
  check_tensor(ctx, "results", x, {batch, plan.out_height, plan.out_width, channels}, x.dtype());
  check<DTypeError>(x.dtype() == DType::f32 || is_half(x.dtype()),
                    "augment: results must be f32, f16 or bf16, not {}",
                    x.dtype());
  check(samples > 0 || batch == 0, "augment: a batch of {} from an empty data set", batch);
}

/// Returns targets of either type as words.
template <class AnyTensor>
auto* words(AnyTensor& targets) {
  using Word = std::conditional_t<std::is_const_v<AnyTensor>, const std::uint32_t, std::uint32_t>;
  return targets.dtype() == DType::i64
             ? reinterpret_cast<Word*>(targets.template data<std::int64_t>())
             : reinterpret_cast<Word*>(targets.template data<float>());
}

}  // namespace

void augment(Context& ctx,
             const AugmentPlan& plan,
             const AugmentSource& source,
             const Tensor& index,
             std::uint64_t seed,
             std::uint64_t epoch,
             Tensor& x,
             Tensor& y) {
  check_operands(ctx, plan, source, index, x, y);
  const bool classes = source.targets.dtype() == DType::i64;
  const std::int64_t samples = source.images.shape()[0];
  const AugmentBatch batch{.images = source.images.data<std::uint8_t>(),
                           .targets = words(source.targets),
                           .target_words = classes ? 2 : source.targets.shape()[1],
                           .samples = samples,
                           .draws = samples * source.repeats,
                           .index = index.data<std::int64_t>(),
                           .batch = index.shape()[0],
                           .seed = seed,
                           .epoch = epoch};
  dispatch(ctx, kOp, x.dtype(), [&]<class T>(const auto& exec) {
    augment(exec, plan, batch, x.shape()[3], x.data<T>(), words(y));
  });
}

}  // namespace learn::kernels
