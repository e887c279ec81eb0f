#pragma once
#include "framework/autograd/tape.h"
#include "framework/export/trace.h"
#include "framework/nn/model.h"
#include "framework/runtime/transfer.h"
#include "framework/tensor/factory.h"

#include <cmath>
#include <cstdint>
#include <utility>

/// A model with values of a training: nothing is 0 or 1 any more, the running statistics neither.
struct Trained {
  explicit Trained(learn::nn::Model made,
                   const learn::ContextOptions& options = {.device = learn::Device::cpu(),
                                                           .threads = 1,
                                                           .reference = true})
      : ctx(options), model(std::move(made)) {
    model.params->materialize(ctx);
    std::uint64_t seed = 7;
    for (std::int64_t i = 0; i < model.params->size(); ++i)
      if (model.params->info(i).shape.rank() == 1)
        spread(model.params->slot(i).value, ++seed, 0.5F);
    for (std::int64_t i = 0; i < model.params->buffer_count(); ++i)
      spread(model.params->buffer(i).value, ++seed, 0.5F);
  }

  learn::Tensor images(std::int64_t batch) {
    learn::Shape shape{batch};
    for (const std::int64_t extent : model.input) shape.push_back(extent);
    return learn::uniform(ctx.persistent(), shape, learn::DType::f32, -2, 2, 3, 0);
  }
  learn::Tensor logits(const learn::Tensor& x) {
    learn::Tape tape(ctx, {.mode = learn::ForwardMode::eval, .grad = false});
    return learn::to_host(ctx, (*model.module)(tape.input(x)).value());
  }
  learn::exported::Graph graph() {
    return learn::exported::trace(*model.module, *model.params, model.input);
  }

  learn::Context ctx;
  learn::nn::Model model;

 private:
  /// Values in [low, low + 1).
  static void spread(learn::Tensor& values, std::uint64_t seed, float low) {
    float x = static_cast<float>(seed % 7) / 7;
    for (float& v : values.span<float>()) {
      x = std::fmod(x + 0.618F, 1.0F);
      v = low + x;
    }
  }
};
