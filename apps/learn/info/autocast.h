#pragma once

namespace learn::cli {

/// `learn autocast`: a table of all operations and their rules (framework/autograd/autocast.h).
int autocast_rules();

}  // namespace learn::cli
