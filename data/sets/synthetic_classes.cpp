// Apart from what draws them: the readers of files know these names too.
#include "data/sets/synthetic10.h"

namespace learn::data {

std::vector<std::string> synthetic_classes() {
  return {"disk",
          "ring",
          "square",
          "frame",
          "triangle",
          "cross",
          "hexagram",
          "crescent",
          "bars",
          "arrow"};
}

}  // namespace learn::data
