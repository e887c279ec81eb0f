#pragma once
#include "framework/interfaces/state_visitor.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace learn {

/// Shows rows of `columns` numbers, one after the other, as `name.rows` and `name.table`. Throws
/// CheckpointError, before anything is reserved, for more than `most` rows.
void visit_table(StateVisitor& visitor,
                 std::string_view name,
                 std::size_t columns,
                 std::int64_t most,
                 std::vector<double>& numbers);

}  // namespace learn
