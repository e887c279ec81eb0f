#pragma once
#include "framework/kernels/augment/change_image.h"
#include "framework/kernels/augment/draw_change.h"

#include <cstdint>

namespace learn::image {

/// Changes the image and its size.
template <class Team>
LEARN_HD void apply(const Team& team,
                    const Change& change,
                    const AugmentPlan::Step& step,
                    WorkImage& image) {
  if (change.kind == Change::Kind::resize)
    resize(team, image, change.window, step.out_height, step.out_width);
  else
    change_image(team, change, image);
  team.sync();
}

/// Runs a step that changes pixels: one or several drawn changes, one after the other. Augmix has
/// several chains of them, each of which starts with the image, and mixes their results with it.
template <class Team>
LEARN_HD void run_step(const Team& team,
                       const AugmentPlan::Step& step,
                       const AugmentDraw& draw,
                       WorkImage& image) {
  const bool mixes = step.kind == AugmentPlan::Step::Kind::augmix;
  if (mixes && !(uniform01(draw(step.number).v[3]) < step.probability)) return;
  const std::int32_t bytes = image.height * image.width * image.channels;
  std::uint8_t* const origin = image.origin;
  float* const sums = image.sums;
  if (mixes) {
    const float own_weight = draw_own_weight(step, draw);
    const std::uint8_t* const now = image.now;
    team.each(bytes, [=](std::int32_t i) {
      origin[i] = now[i];
      sums[i] = own_weight * static_cast<float>(now[i]);
    });
    team.sync();
  }
  const int chains = mixes ? step.count : 1;
  for (int chain = 0; chain < chains; ++chain) {
    const int links = mixes ? draw_depth(step, draw, chain) : changes_of(step);
    for (int link = 0; link < links; ++link) {
      if (team.leads())
        team.shared()->change = mixes
                                    ? draw_link(step, draw, chain, link, image.height, image.width)
                                    : draw_change(step, draw, link, image.height, image.width);
      team.sync();
      apply(team, team.shared()->change, step, image);
    }
    if (!mixes) continue;
    std::uint8_t* const now = image.now;
    const float weight = draw_chain_weight(step, draw, chain);
    const bool last = chain + 1 == chains;
    team.each(bytes, [=](std::int32_t i) {
      const float sum = sums[i] + weight * static_cast<float>(now[i]);
      sums[i] = sum;
      now[i] = last ? to_byte(sum) : origin[i];
    });
    team.sync();
  }
}

}  // namespace learn::image
