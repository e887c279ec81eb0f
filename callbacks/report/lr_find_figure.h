#pragma once
#include "framework/drawing/plot.h"
#include "framework/learner/find/lr_find.h"

namespace learn::callbacks {

/// Plots smoothed and raw loss against the learning rate, on a logarithmic axis, with the
/// suggestions as points. Like fastai's plot it leaves out the last five updates, if there are
/// more.
[[nodiscard]] plot::Figure lr_find_figure(const LrFindResult& found);

}  // namespace learn::callbacks
