#pragma once
#include "data/sets/registry.h"

namespace learn::data {

/// Adds the sets that a file lists: "csv", a table, and "list".
void add_listed_sets(Registry<DataPair(const DataOptions&)>& registry);

}  // namespace learn::data
