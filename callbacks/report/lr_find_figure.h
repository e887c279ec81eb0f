#pragma once
#include "framework/drawing/plot.h"
#include "framework/learner/find/lr_find.h"

namespace learn::callbacks {

/// Smoothed and raw loss over the rate, on a logarithmic axis, the suggestions as points. Like
/// fastai's, it omits the last five updates, if there are more.
[[nodiscard]] plot::Figure lr_find_figure(const LrFindResult& found);

}  // namespace learn::callbacks
