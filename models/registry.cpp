#include "models/registry.h"

#include "models/registrations.h"

namespace learn::models {

ModelRegistry model_registry() {
  ModelRegistry registry("model");
  for (const auto& add_to : kRegistrations) add_to(registry);
  return registry;
}

void check_images(const std::string& name, const Shape& input, std::int64_t smallest) {
  if (input.rank() != 3)
    fail<UsageError>(
        "model '{}' takes images (H,W,C), not {}; 'mlp' and 'linear' take features", name, input);
  if (input[0] < smallest || input[1] < smallest)
    fail<UsageError>("model '{0}' needs images of at least {1}x{1}, but these are {2}x{3}",
                     name,
                     smallest,
                     input[0],
                     input[1]);
}

nn::Model make_model(const Spec& spec, const Task& task) {
  const ModelRegistry::Make make = model_registry().make(spec);
  if (task.input.rank() == 0 || task.input.elements() < 1)
    fail<UsageError>("model '{}' cannot take samples of shape {}", spec.name, task.input);
  if (task.classes < 1)
    fail<UsageError>("model '{}' cannot have {} classes", spec.name, task.classes);
  return make(task);
}

nn::Model make_model(std::string_view spec, const Task& task) {
  return make_model(Spec::parse(spec), task);
}

nn::Model make_model(std::string_view spec, const BatchSources& data) {
  const Task task{.classes = data.train->classes(), .input = data.train->sample_shape()};
  check<UsageError>(task.input.rank() > 0 && task.classes > 0,
                    "model '{}' needs the shape of a sample and the number of classes, which these "
                    "data do not have: give a Task",
                    spec);
  return make_model(spec, task);
}

}  // namespace learn::models
