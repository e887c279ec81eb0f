#include "framework/export/graph.h"

#include <algorithm>
#include <set>

namespace learn::exported {

std::vector<std::size_t> Graph::users(std::string_view name) const {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < operations.size(); ++i)
    if (std::ranges::count(operations[i].inputs, name) > 0) found.push_back(i);
  return found;
}

std::string Graph::unused_name(const std::string& wish) const {
  const auto taken = [&](const std::string& name) {
    return values.contains(name) || weights.contains(name);
  };
  std::string name = wish;
  for (int number = 1; taken(name); ++number) name = wish + "_" + std::to_string(number);
  return name;
}

void Graph::drop_unused_weights() {
  std::set<std::string_view> used;
  for (const Operation& operation : operations)
    used.insert(operation.inputs.begin(), operation.inputs.end());
  std::erase_if(weights, [&](const auto& weight) { return !used.contains(weight.first); });
}

}  // namespace learn::exported
