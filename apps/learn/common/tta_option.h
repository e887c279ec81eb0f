#pragma once
#include "framework/core/options/option_table.h"
#include "framework/nn/test_views.h"

#include <optional>
#include <string>

namespace learn::cli {

/// Declares `--tta`, a spec of `nn::view_registry`.
void declare_tta(OptionTable& table, std::string& spec);
/// Returns the views of that spec; nothing for an empty one.
[[nodiscard]] std::optional<nn::TestViews> views_of(const std::string& spec);

}  // namespace learn::cli
