#include "framework/learner/state_table.h"

#include "framework/tensor/host_tensor.h"

namespace learn {

void visit_table(StateVisitor& visitor,
                 std::string_view name,
                 std::size_t columns,
                 std::int64_t most,
                 std::vector<double>& numbers) {
  const StateVisitor::Scope scope(visitor, name);
  auto rows = static_cast<std::int64_t>(numbers.size() / columns);
  visitor.visit("rows", rows, {.high = most});
  numbers.resize(static_cast<std::size_t>(rows) * columns);
  if (rows == 0) return;
  Tensor table = host_tensor<double>({rows, static_cast<std::int64_t>(columns)}, numbers);
  visitor.visit("table", table);
  const auto visited = table.span<double>();
  numbers.assign(visited.begin(), visited.end());
}

}  // namespace learn
