#include "tests/support/parity_record.h"

#include <cmath>
#include <cstdio>
#include <map>
#include <utility>

namespace learn::test {
namespace {

struct Worst {
  double ratio = -1;
  std::string where;
};

class ParityRecord {
 public:
  ParityRecord() = default;
  ~ParityRecord() {
    for (const auto& [key, worst] : worst_)
      std::printf("parity: %s %s %.3f (%s)\n",
                  key.first.c_str(),
                  std::string(name_of(key.second)).c_str(),
                  worst.ratio,
                  worst.where.c_str());
  }
  ParityRecord(const ParityRecord&) = delete;
  ParityRecord& operator=(const ParityRecord&) = delete;

  void note(std::string_view operation, DType dtype, double ratio, const std::string& where) {
    Worst& worst = worst_[{std::string(operation), dtype}];
    if (std::isnan(worst.ratio) || ratio <= worst.ratio) return;  // a NaN is never less or equal
    worst = {ratio, where};
  }

 private:
  std::map<std::pair<std::string, DType>, Worst> worst_;
};

}  // namespace

void note_parity(std::string_view operation, DType dtype, double ratio, const std::string& where) {
  static ParityRecord record;
  record.note(operation, dtype, ratio, where);
}

}  // namespace learn::test
