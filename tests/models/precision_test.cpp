#include "framework/autograd/ops.h"
#include "framework/autograd/tape.h"
#include "framework/nn/loss.h"
#include "framework/tensor/factory.h"
#include "models/registry.h"

#include <doctest/doctest.h>

#include <cmath>
#include <string>

using namespace learn;

namespace {

/// A narrow form of a model, with dropout where it has some, so that every family runs in a moment.
Spec narrow(const std::string& name, bool weight_norm) {
  Spec spec{name, {}};
  const OptionTable options = models::model_registry().configure(name).options;
  if (const Option* width = options.find("width"); width != nullptr) {
    const std::int64_t usual = parse_integer(width->usual, kAnyNumber);
    // Channels, or a factor of them.
    const std::int64_t few = usual < 16 ? 1 : std::max<std::int64_t>(4, usual / 16);
    spec.options.emplace_back("width", std::to_string(few));
  }
  if (options.find("dropout") != nullptr) spec.options.emplace_back("dropout", "0.1");
  if (weight_norm) spec.options.emplace_back("weight_norm", "true");
  return spec;
}

struct Run {
  double loss = 0;
  double grad_norm = 0;
};

/// One forward and backward pass in `dtype`, with the loss in f32 as mixed precision has it.
Run run(nn::Model& model, Context& ctx, DType dtype) {
  nn::ParamStore& store = *model.params;
  store.set_working_dtype(dtype);
  store.begin_gradients();
  Tape tape(ctx);
  Tensor images = uniform(ctx.step(), {8, 32, 32, 3}, DType::f32, -2, 2, 5);
  Tensor classes(ctx.step(), {8}, DType::i64);
  for (std::int64_t i = 0; i < 8; ++i) set(classes, i, static_cast<double>(i % 7));
  const Var pred = (*model.module)(ops::cast(tape.input(images), dtype));
  CHECK(pred.shape() == Shape{8, 7});
  CHECK(pred.dtype() == dtype);
  const Var loss = nn::cross_entropy().fn(ops::cast(pred, DType::f32), classes);
  tape.backward(loss);
  double squares = 0;
  for (std::int64_t p = 0; p < store.size(); ++p) {
    const ParamSlot& slot = store.slot(p);
    CAPTURE(slot.name);
    CHECK(slot.has_grad() != store.info(p).fixed);
    CHECK(slot.grad.dtype() == (nn::is_f32(store.info(p).role) ? DType::f32 : dtype));
    for (std::int64_t i = 0; slot.has_grad() && i < slot.grad.elements(); ++i)
      squares += get(slot.grad, i) * get(slot.grad, i);
  }
  return {get(loss.value(), 0), std::sqrt(squares)};
}

}  // namespace

namespace {

void check_precisions(const Spec& spec) {
  CAPTURE(spec.name);
  Context ctx({.threads = 2, .seed = 3});
  nn::Model model = models::make_model(spec, {.classes = 7});
  model.params->materialize(ctx);
  const Run full = run(model, ctx, DType::f32);
  CHECK(std::isfinite(full.loss));
  CHECK(full.grad_norm > 0);
  const Run half = run(model, ctx, DType::f16);
  const Run brain = run(model, ctx, DType::bf16);
  // Rounding errors of 2^-11 and 2^-8 per layer, up to 50 layers deep and only 4 channels wide,
  // which is where they average out least. A missing cast or a lost layer is a factor, not a
  // share.
  CHECK(half.loss == doctest::Approx(full.loss).epsilon(0.02));
  CHECK(half.grad_norm == doctest::Approx(full.grad_norm).epsilon(0.2));
  CHECK(brain.loss == doctest::Approx(full.loss).epsilon(0.1));
  CHECK(brain.grad_norm == doctest::Approx(full.grad_norm).epsilon(0.4));
}

}  // namespace

TEST_CASE("every model runs forward and backward in f32, f16 and bf16") {
  for (const std::string& name : models::model_registry().names())
    check_precisions(narrow(name, false));
}

TEST_CASE("models with weight norm run forward and backward in f32, f16 and bf16") {
  for (const char* name : {"darknet", "mlp"}) check_precisions(narrow(name, true));
}

TEST_CASE("models accept odd image sizes, or refuse them with the reason") {
  Context ctx({.threads = 2});
  const auto shape_for = [&](const char* name, const Shape& input) {
    nn::Model model =
        models::make_model(std::string(name) + ":width=4", {.classes = 7, .input = input});
    model.params->materialize(ctx);
    Tape tape(ctx, {.mode = ForwardMode::eval, .grad = false});
    return (*model.module)(tape.input(zeros(ctx.step(), {2, input[0], input[1], input[2]})))
        .shape();
  };
  for (const char* name : {"darknet", "resnet18", "resnet50", "resnet9", "mlp"}) {
    CAPTURE(name);
    CHECK(shape_for(name, {17, 23, 1}) == Shape{2, 7});
    CHECK(shape_for(name, {64, 48, 4}) == Shape{2, 7});
  }
  // A model that was made for one size and is given another.
  nn::Model model = models::make_model("mlp");
  model.params->materialize(ctx);
  Tape tape(ctx);
  CHECK_THROWS_WITH_AS((void)(*model.module)(tape.input(zeros(ctx.step(), {2, 28, 28, 3}))),
                       doctest::Contains("created for samples of shape (32,32,3)"),
                       ShapeError);
  nn::Model resnet = models::make_model("resnet9:width=4");
  resnet.params->materialize(ctx);
  CHECK_THROWS_WITH_AS((void)(*resnet.module)(tape.input(zeros(ctx.step(), {2, 4, 4, 3}))),
                       doctest::Contains("too small for this model"),
                       ShapeError);
}
