#pragma once
#include "framework/kernels/augment/augment_draw.h"
#include "framework/kernels/augment/augment_plan.h"
#include "framework/kernels/augment/change_image.h"
#include "framework/kernels/augment/work_image.h"

#include <cstdint>

/// Steps on one image on the calling thread, with the same bits as on a device.
namespace learn::cpu {

/// Runs a step that changes pixels. Steps on colours need 1 or 3 channels.
void run_image_step(const AugmentPlan::Step& step,
                    const AugmentDraw& draw,
                    image::WorkImage& image);

/// Scales an image whose size and result are the axes'. `memory`: as WorkMemory::scale says.
void resize(const image::ResizeSource& from,
            std::int32_t channels,
            const image::Axis& rows,
            const image::Axis& columns,
            const image::ResizeMemory& memory,
            std::uint8_t* to);

}  // namespace learn::cpu
