#pragma once
#include "data/loading/loader.h"
#include "data/sets/arrays.h"
#include "framework/core/random.h"
#include "framework/nn/layers.h"
#include "framework/nn/model.h"

/// The task of the loops without a Learner: is a point in an even or an odd quadrant?
namespace examples {

inline learn::data::Dataset points(int count) {
  learn::data::Arrays out{.sample = {2}};
  for (int i = 0; i < count; ++i) {
    const auto draw =
        learn::random4(1, learn::RandomPurpose::test, 0, static_cast<std::uint64_t>(i));
    const float x = 2 * learn::uniform01(draw.v[0]) - 1;
    const float y = 2 * learn::uniform01(draw.v[1]) - 1;
    out.x.insert(out.x.end(), {x, y});
    out.classes.push_back(x * y > 0 ? 0 : 1);
  }
  return from_arrays(std::move(out));
}

inline learn::nn::Model net() {
  return learn::nn::make_model<learn::nn::Sequential>(
      "quadrants", learn::Shape{2}, 2, [](learn::nn::Sequential& layers) {
        layers.emplace<learn::nn::Linear>(2, 32, learn::nn::LinearOptions{.bias = false});
        layers.emplace<learn::nn::BatchNorm1d>(
            32, learn::BatchNormOptions{.activation = learn::ActivationKind::relu()});
        layers.emplace<learn::nn::Linear>(32, 2);
      });
}

}  // namespace examples
