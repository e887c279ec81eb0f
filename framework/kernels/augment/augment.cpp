#include "framework/kernels/augment/augment.h"

#include "framework/kernels/augment/augment_reference.h"
#include "framework/runtime/dispatch.h"

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
  check(channels == 3 || channels == 4 || channels == 8,
        "augment: a result has 3, 4 or 8 channels, not {}",
        channels);
  check_tensor(ctx, "images", source.images, {samples, plan.height, plan.width, 3}, DType::u8);
  check_tensor(ctx, "labels", source.labels, {samples}, DType::i64);
  check_tensor(ctx, "indices", index, {batch}, DType::i64);
  check_tensor(ctx, "classes", y, {batch}, DType::i64);
  check_tensor(ctx, "results", x, {batch, plan.out_height, plan.out_width, channels}, x.dtype());
  check<DTypeError>(x.dtype() == DType::f32 || is_half(x.dtype()),
                    "augment: results are f32, f16 or bf16, not {}",
                    x.dtype());
  check(samples > 0 || batch == 0, "augment: a batch of {} from no images", batch);
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
  const AugmentBatch batch{.images = source.images.data<std::uint8_t>(),
                           .labels = source.labels.data<std::int64_t>(),
                           .samples = source.images.shape()[0],
                           .index = index.data<std::int64_t>(),
                           .batch = index.shape()[0],
                           .seed = seed,
                           .epoch = epoch};
  dispatch(ctx, kOp, x.dtype(), [&]<class T>(const auto& exec) {
    augment(exec, plan, batch, x.shape()[3], x.data<T>(), y.data<std::int64_t>());
  });
}

}  // namespace learn::kernels
