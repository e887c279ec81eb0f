#include "apps/learn/class_table.h"

#include "framework/report/text_table.h"

#include <fmt/core.h>

namespace learn::cli {

std::string class_table(const ConfusionMatrix& confusion, const std::vector<std::string>& names) {
  TextTable table({{"class"},
                   {"images", TextTable::Align::right},
                   {"accuracy", TextTable::Align::right},
                   {"most often taken for"}});
  for (int truth = 0; truth < confusion.classes(); ++truth) {
    int worst = truth;
    std::int64_t mistakes = 0;
    for (int guess = 0; guess < confusion.classes(); ++guess)
      if (guess != truth && confusion.count(truth, guess) > mistakes) {
        worst = guess;
        mistakes = confusion.count(truth, guess);
      }
    const std::int64_t seen = confusion.seen(truth);
    table.row({names.at(static_cast<std::size_t>(truth)),
               std::to_string(seen),
               seen > 0 ? fmt::format("{:.4f}", confusion.recall(truth)) : "-",
               mistakes == 0
                   ? ""
                   : fmt::format("{} ({})", names.at(static_cast<std::size_t>(worst)), mistakes)});
  }
  return table.to_string();
}

}  // namespace learn::cli
