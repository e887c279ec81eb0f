#include "framework/kernels/augment/image_steps.h"
#include "framework/kernels/augment/lone_team.h"
#include "framework/kernels/augment/run_step.h"
#include "framework/kernels/common/cpu/vectorize.h"

namespace learn::cpu {

void run_image_step(const AugmentPlan::Step& step,
                    const AugmentDraw& draw,
                    image::WorkImage& image) {
  simd::run_narrow([=, to = &image] {
    image::WorkImage changed = *to;
    image::TeamMemory memory;
    image::run_step(image::LoneTeam(memory), step, draw, changed);
    *to = changed;
  });
}

void resize(const image::ResizeSource& from,
            std::int32_t channels,
            const image::Axis& rows,
            const image::Axis& columns,
            const image::ResizeMemory& memory,
            std::uint8_t* to) {
  simd::run_narrow([=] {
    image::TeamMemory unused;
    image::resize(image::LoneTeam(unused), from, channels, rows, columns, memory, to);
  });
}

}  // namespace learn::cpu
