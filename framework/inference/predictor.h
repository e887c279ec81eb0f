#pragma once
#include "data/images/image_codec.h"
#include "data/loading/pipeline.h"
#include "framework/evaluation/label_report.h"
#include "framework/inference/saved_model.h"
#include "framework/nn/test_views.h"
#include "framework/runtime/context.h"
#include "framework/tensor/tensor.h"

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace learn {

/// A model's prediction for one image. The targets it was trained on determine which members are
/// set: `Predictor::description().target_kind`.
struct Prediction {
  /// The class with the largest probability, the first of equal ones; -1 if one is NaN, and for
  /// other targets.
  int label = -1;
  std::string name;                  ///< name of that class; empty without one
  std::vector<float> probabilities;  ///< of each class or label, as `Predictor::classes` has them
  std::vector<float> values;         ///< of real targets, as `Predictor::classes` names them

  /// The `count` most probable classes, or as many as there are, the most probable first; of equal
  /// ones the lower first.
  [[nodiscard]] std::vector<int> top(int count) const;
  /// The labels with a probability above `threshold`, the most probable first.
  [[nodiscard]] std::vector<int> labels(double threshold = kLabelThreshold) const;
  /// False if a probability is NaN, or a value not finite: the weights are not finite, or too
  /// large, and nothing was predicted.
  [[nodiscard]] bool valid() const;
};

struct PredictorOptions {
  ContextOptions context{};
  std::int64_t batch_size = 64;  ///< images at a time, at most; bounds the memory
  /// Predicts the mean for several views of an image: test-time augmentation.
  std::optional<nn::TestViews> views{};
  /// The precision of the model: f32, or f16 or bf16, as in a half model (BatchNorm in f32, see
  /// `ParamStore::set_working_dtype`). Halves move half the bytes; they are faster on a GPU and on
  /// processors with a matrix unit, but not on others.
  DType dtype = DType::f32;
};

/// A trained model for predictions: a class, several labels, or real numbers. Owns everything it
/// needs. Any thread may call it at any time: calls run one after the other, and each uses all of
/// the context's threads.
///
///   Predictor predict = load_run("runs/ten");
///   fmt::print("{}\n", predict(data::read_image("cat.jpg")).name);
class Predictor {
 public:
  /// `model` has its weights already, in memory of `ctx`. Throws UsageError for a batch size below
  /// 1, and unless there is a name for each of the model's outputs; DTypeError for a dtype
  /// that models do not compute in.
  Predictor(std::unique_ptr<Context> ctx,
            nn::Model model,
            SavedModel description,
            const PredictorOptions& options = {});
  ~Predictor();
  Predictor(Predictor&&) noexcept;
  Predictor& operator=(Predictor&&) noexcept;

  /// Names of the classes, the labels or the values.
  [[nodiscard]] const std::vector<std::string>& classes() const;
  /// The checkpoint's description of the model.
  [[nodiscard]] const SavedModel& description() const;

  /// Predicts an image of any size: it is scaled to cover the model's input and cropped to the
  /// centre, like the training images. Throws DataError for one whose pixels are not H*W*3.
  [[nodiscard]] Prediction operator()(const data::Image& image);
  /// Predicts many images. The other images change a prediction at most by rounding.
  [[nodiscard]] std::vector<Prediction> operator()(std::span<const data::Image> images);

  /// Predicts samples of features, stored one after the other, not normalized yet. Throws
  /// UsageError for a model of images, a number of values that is not a multiple of the features,
  /// and with `PredictorOptions::views`.
  [[nodiscard]] std::vector<Prediction> of_features(std::span<const float> values);

  /// The model's output (N,classes) for images (N,H,W,3) of its input's size, normalized, f32 on
  /// the host; on the host too. Throws ShapeError, DTypeError.
  [[nodiscard]] Tensor logits(const Tensor& images);

 private:
  struct State;
  [[nodiscard]] State& state() const;
  std::unique_ptr<State> state_;
};

}  // namespace learn
