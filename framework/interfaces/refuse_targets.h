#pragma once
#include "framework/core/format.h"
#include "framework/core/options/registry.h"
#include "framework/interfaces/target_kind.h"

#include <string>
#include <string_view>
#include <vector>

namespace learn {

/// Throws UsageError: `name` of the registry is for `its` targets, but those of `whose` differ. The
/// error lists the names for the latter. Products must have a member `targets`.
template <class Product>
[[noreturn]] void refuse_targets(const Registry<Product()>& registry,
                                 std::string_view name,
                                 TargetKind its,
                                 std::string_view whose,
                                 TargetKind targets) {
  std::vector<std::string> fitting = registry.names();
  std::erase_if(fitting, [&](const auto& one) { return registry.make(one)().targets != targets; });
  fail<UsageError>("{} '{}' is for {}; the targets of {} are {}, for which there are {}",
                   registry.kind(),
                   name,
                   to_text(its),
                   whose,
                   to_text(targets),
                   join(fitting));
}

}  // namespace learn
