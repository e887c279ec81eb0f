#include "framework/evaluation/class_report.h"

namespace learn {

ClassReport class_report(const ConfusionMatrix& confusion) {
  using C = ConfusionMatrix;
  ClassReport report;
  for (int c = 0; c < confusion.classes(); ++c)
    report.classes.push_back({.precision = confusion.precision(c),
                              .recall = confusion.recall(c),
                              .f1 = confusion.f1(c),
                              .support = confusion.seen(c)});
  report.macro = {.precision = confusion.mean(&C::precision),
                  .recall = confusion.mean(&C::recall),
                  .f1 = confusion.mean(&C::f1),
                  .support = confusion.samples()};
  report.weighted = {.precision = confusion.weighted_mean(&C::precision),
                     .recall = confusion.weighted_mean(&C::recall),
                     .f1 = confusion.weighted_mean(&C::f1),
                     .support = confusion.samples()};
  return report;
}

}  // namespace learn
