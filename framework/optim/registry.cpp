#include "framework/optim/registry.h"

#include "framework/optim/registrations.h"

namespace learn::optim {

OptimizerRegistry optimizer_registry() {
  OptimizerRegistry registry("optimizer");
  for (const auto& add_to : kRegistrations) add_to(registry);
  return registry;
}

}  // namespace learn::optim
