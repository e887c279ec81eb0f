#pragma once
#include "framework/kernels/common/grad_mode.h"
#include "framework/kernels/common/step_control.h"
#include "framework/kernels/step/loss_scale_options.h"
#include "framework/runtime/cuda/stream.h"

#include <cstdint>

/// The CUDA twin of what steers a step: the control block is read and written on the device, so the
/// host never waits for it. Device pointers; enqueues only.
namespace learn::cuda {

void write_control(Stream stream, const StepControl& value, StepControl* control);
void set_loss_scale(Stream stream, float scale, StepControl* control);
void begin_step(Stream stream, StepControl* control);
/// `live` and `committed` have n elements: with `found_inf` committed becomes live, else live
/// becomes committed.
void end_step(Stream stream,
              float* live,
              float* committed,
              std::int64_t n,
              const LossScaleOptions& scaling,
              StepControl* control);

/// y (+)= x * control.inverse_scale, x f16 or bf16; sets `found_inf` if a result is not finite.
template <class From>
void unscale(
    Stream stream, const From* x, float* y, StepControl* control, GradMode mode, std::int64_t n);
/// x *= control.inverse_scale, with the same look-out.
void unscale_in_place(Stream stream, float* x, StepControl* control, std::int64_t n);
template <class T>
void find_non_finite(Stream stream, const T* x, StepControl* control, std::int64_t n);
void clip_by_value(
    Stream stream, float* x, float limit, const StepControl* control, std::int64_t n);

/// Floats of scratch memory that `add_squares` fills for n elements.
[[nodiscard]] std::int64_t squares_workspace(std::int64_t n);
void add_squares(Stream stream, const float* x, std::int64_t n, float* workspace);
/// *norm = the square root of all squares in a workspace of `floats` floats. Unless `control` is
/// null, its gradient multiplier is lowered so that the gradients have at most `max_norm`.
void join_norm(Stream stream,
               std::int64_t floats,
               const float* workspace,
               float* norm,
               float max_norm,
               StepControl* control);

}  // namespace learn::cuda
