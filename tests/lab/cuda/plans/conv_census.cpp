#include "tests/lab/cuda/plans/conv_census.h"

#include "framework/autograd/tape.h"
#include "framework/nn/layers/conv2d.h"
#include "framework/tensor/factory.h"
#include "models/registry.h"

namespace learn::test {
namespace {

class ConvLog final : public ForwardObserver {
 public:
  void forwarded(const nn::Module& module, const Var& x, const Var&) override {
    if (const auto* conv = dynamic_cast<const nn::Conv2d*>(&module))
      convs.push_back(conv->geometry(x.shape()));
  }
  std::vector<ConvGeometry> convs;
};

}  // namespace

std::vector<ModelConvs> conv_census() {
  std::vector<ModelConvs> census;
  for (const std::string& name : models::model_registry().names()) {
    Context ctx({.device = Device::cpu(), .threads = 1});
    const nn::Model model = models::make_model(name);
    model.params->materialize(ctx);
    Tape tape(ctx, {.mode = ForwardMode::eval, .grad = false});
    ConvLog log;
    tape.observe(&log);
    const Shape one{1, model.input[0], model.input[1], model.input[2]};
    (void)(*model.module)(tape.input(zeros(ctx.step(), one, DType::f32)));
    census.push_back({name, std::move(log.convs)});
  }
  return census;
}

}  // namespace learn::test
