#include "tests/inference/trained.h"

#include "framework/io/checkpoint.h"
#include "framework/runtime/context.h"

namespace learn::test {

SavedModel small_description(const std::string& model) {
  return {.model = model,
          .classes = {"bird", "cat", "dog"},
          .input = {8, 12},
          .normalization = {.mean = {0.5F, 0.4F, 0.3F}, .std = {0.2F, 0.25F, 0.3F}}};
}

void write_trained(const std::filesystem::path& file, const SavedModel& description, float factor) {
  Context ctx({.device = Device::cpu()});
  const nn::Model model = description.make();
  model.params->materialize(ctx);
  for (std::int64_t i = 0; i < model.params->size(); ++i) {
    Tensor master = model.params->master(i);
    for (float& value : master.span<float>()) value *= factor;
  }
  Metadata metadata;
  describe_model(description, metadata);
  std::filesystem::create_directories(file.parent_path());
  save_weights(file, *model.params, metadata);
}

}  // namespace learn::test
