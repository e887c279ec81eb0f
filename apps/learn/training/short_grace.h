#pragma once

namespace learn {
class Learner;
}

namespace learn::cli {

/// Lets a training warn, after its first epoch that shows it, if a launcher that ends it by SIGTERM
/// would kill it before it has finished its update and saved its state. Does nothing without such a
/// launcher. Throws as `find_launcher` does.
void warn_of_short_grace(Learner& learn);

}  // namespace learn::cli
