#include "framework/autograd/autocast.h"

#include "apps/learn/cli/command.h"
#include "framework/core/console.h"
#include "framework/terminal/text_table.h"

#include <string>

namespace learn::cli {
namespace {

const char* meaning_of(CastClass cast_class) {
  switch (cast_class) {
    case CastClass::half:
      return "f16 or bf16 for any input";
    case CastClass::full:
      return "f32 for any input";
    case CastClass::widest:
      return "f32 if one of its inputs is f32, otherwise the type of its inputs";
    case CastClass::given:
      break;
  }
  return "the type of its input";
}

/// `learn autocast`: a table of all operations and their rules (framework/autograd/autocast.h).
int autocast_rules() {
  TextTable table({{"operation"}, {"class"}, {"computes in"}});
  for (const CastRule& rule : kCastRules)
    table.row(
        {std::string(rule.op), std::string(text_of(rule.cast_class)), meaning_of(rule.cast_class)});
  console::print(table.to_string());
  return 0;
}

}  // namespace

void register_autocast(Commands& commands) {
  commands.add({.name = "autocast",
                .place = 2,
                .help = "list the dtype of each operation under --precision fp16-amp and bf16-amp",
                .examples = {{"List the operations", "learn autocast"}},
                .in_ranks = true,
                .run = [](const Parsed&) { return autocast_rules(); }});
}

}  // namespace learn::cli
