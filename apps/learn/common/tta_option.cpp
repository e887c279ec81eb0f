#include "apps/learn/common/tta_option.h"

#include "framework/core/format.h"

namespace learn::cli {

void declare_tta(OptionTable& table, std::string& spec) {
  declare_spec(table,
               "tta",
               spec,
               nn::view_registry(),
               join(nn::view_registry().names(), "|"),
               "predict the mean for several views of each image: mirror, also its mirror image; "
               "shift, also shifted ones; 'learn options views' has their options");
}

std::optional<nn::TestViews> views_of(const std::string& spec) {
  if (spec.empty()) return {};
  return nn::view_registry().make(spec)();
}

}  // namespace learn::cli
