#include "apps/learn/cli/completion.h"

#include "apps/learn/cli/options.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace learn::cli {
namespace {

namespace fs = std::filesystem;

/// Collects the words that start with the given one.
class Candidates {
 public:
  explicit Candidates(std::string word) : word_(std::move(word)) {}

  /// Whether it does.
  bool add(const std::string& candidate, const std::string& about = {}) {
    if (!candidate.starts_with(word_)) return false;
    // A name with line breaks or control characters is not completed.
    if (std::ranges::any_of(candidate, [](unsigned char c) { return c < 0x20 || c == 0x7F; }))
      return false;
    text_ += candidate + (about.empty() ? "" : "\t" + about) + '\n';
    return true;
  }
  void add_files() { text_ += ":files\n"; }
  void add_folders() { text_ += ":folders\n"; }

  [[nodiscard]] const std::string& word() const { return word_; }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  std::string word_;
  std::string text_;
};

/// Returns a help text up to the first pause, because a line of a shell has no room for more.
std::string brief(const std::string& help) { return help.substr(0, help.find_first_of(";:(")); }

void add_options(const OptionTable& options, Candidates& to) {
  for (const Option& option : options.all()) {
    const bool flag = option.kind == OptionKind::flag;
    if (!flag || option.usual != "true") to.add("--" + option.name, brief(option.help));
    if (flag && (option.usual == "true" || to.word().starts_with("--no")))
      to.add("--no-" + option.name, "not: " + brief(option.help));
  }
  for (const GlobalOption& option : global_options())
    to.add("--" + std::string(option.name), brief(std::string(option.help)));
}

/// Runs are folders that hold a record. Returns whether there are some.
bool add_runs(const std::string& out, const std::string& before, Candidates& to) {
  std::error_code ignored;
  std::vector<std::string> found;
  for (fs::directory_iterator at(out, ignored), end; !ignored && at != end; at.increment(ignored))
    if (fs::exists(at->path() / "run.json", ignored) && !at->is_symlink(ignored))
      found.push_back(at->path().string());
  std::ranges::sort(found);
  return std::ranges::count_if(
             found, [&](const std::string& run) { return to.add(before + run, "a run"); }) > 0;
}

/// Completions of the placeholder of a value or an argument: "auto|cpu|cuda[:N]", "RUN|FILE".
void add_placeholder(const std::string& placeholder,
                     const std::string& before,
                     const std::string& out,
                     Candidates& to) {
  bool has_runs = false;
  for (const std::string& part : split(placeholder, "|")) {
    if (part == "RUN") {
      has_runs = add_runs(out, before, to);
      if (!has_runs) to.add_folders();
    } else if (has_runs && part.starts_with("FILE")) {
      continue;  // those in a run's folder are offered after its name
    } else if (part.starts_with("FILE") || part == "PATH" || part == "IMAGE" || part == "TARGET") {
      to.add_files();
    } else if (part == "DIR") {
      to.add_folders();
    } else if (const bool literal = std::ranges::all_of(
                   part, [](char c) { return c != '.' && (c < 'A' || c > 'Z'); });
               literal || part == "O0" || part == "O1" || part == "O2" || part == "O3") {
      to.add(before + part);
    } else if (const std::size_t bracket = part.find('['); bracket != std::string::npos) {
      if (part[0] >= 'a' && part[0] <= 'z') to.add(before + part.substr(0, bracket));
    }
  }
}

/// Options of a thing chosen by name, after its colon: "gradient_clip:limit=1,by=".
void add_settings(const OptionTable& options, const std::string& before, Candidates& to) {
  const std::size_t equals = to.word().find('=', before.size());
  const std::string name = to.word().substr(before.size(), equals - before.size());
  if (equals == std::string::npos) {
    for (const Option& option : options.all())
      to.add(before + option.name + "=", brief(option.help));
    return;
  }
  const Option* const option = options.find(name);
  if (option == nullptr) return;
  const std::string with_name = before + name + "=";
  const bool flag = option->kind == OptionKind::flag;
  add_placeholder(flag ? "true|false" : option->value, with_name, "runs", to);
}

/// The last of the things that a text names, perhaps with options. `before` is what of the word
/// does not belong to the text.
void add_things(std::string_view kind, char separator, std::string before, Candidates& to) {
  const std::string& word = to.word();
  if (separator != '\0')
    if (const std::size_t last = word.rfind(separator);
        last != std::string::npos && last >= before.size())
      before = word.substr(0, last + 1);
  const std::string thing = word.substr(before.size());
  const std::size_t colon = thing.find(':');
  for (const Choice& choice : choices()) {
    if (choice.kind != kind) continue;
    if (colon == std::string::npos) {
      to.add(before + choice.name, choice.help);
    } else if (choice.name == thing.substr(0, colon)) {
      std::string settings = before + choice.name + ":";
      if (const std::size_t comma = word.rfind(','); comma != std::string::npos)
        settings = std::max(settings, word.substr(0, comma + 1), [](const auto& a, const auto& b) {
          return a.size() < b.size();
        });
      add_settings(choice.options, settings, to);
    }
  }
}

void add_values(const Option& option,
                const std::string& before,
                const std::string& out,
                Candidates& to) {
  if (const std::string_view kind = kind_of_option(option.name); !kind.empty()) {
    add_things(kind, option.kind == OptionKind::list ? option.separator : '\0', before, to);
    if (option.value.find("PATH") != std::string::npos) to.add_files();
    return;
  }
  if (option.name == "monitor") {
    for (const char* const value : {"train_loss", "valid_loss"}) to.add(before + value);
    add_things("metric", '\0', before, to);
  }
  add_placeholder(option.value, before, out, to);
}

/// Information about the words before the last one.
struct Before {
  std::size_t arguments = 0;
  const Option* waits = nullptr;
  bool ended = false;  ///< by "--"
  std::string out = "runs";
};

Before read(const std::vector<std::string>& words, const OptionTable& options) {
  Before before;
  for (const std::string& word : words) {
    if (before.waits != nullptr) {
      if (before.waits->name == "out") before.out = word;
      before.waits = nullptr;
    } else if (word == "--" && !before.ended) {
      before.ended = true;
    } else if (before.ended || !word.starts_with("-")) {
      ++before.arguments;
    } else {
      before.waits = option_before_value(word, options);
      if (word.starts_with("--out=")) before.out = word.substr(std::string("--out=").size());
    }
  }
  return before;
}

void add_arguments(const Command& command, const Before& before, Candidates& to) {
  if (command.arguments.empty()) return;
  const std::size_t last = command.arguments.size() - 1;
  if (before.arguments > last && !command.arguments[last].several) return;
  const Argument& argument = command.arguments[std::min(before.arguments, last)];
  if (argument.known)
    for (const std::string& one : argument.known()) to.add(one);
  add_placeholder(argument.name, "", before.out, to);
}

}  // namespace

std::string completions(const std::vector<Command>& commands,
                        const std::vector<std::string>& words) {
  Candidates to(words.empty() ? std::string() : words.back());
  const std::string& word = to.word();
  const auto command =
      words.size() < 2 ? commands.end() : std::ranges::find_if(commands, [&](const Command& one) {
        const auto first =
            std::ranges::find_if(words, [](const std::string& w) { return !w.starts_with("-"); });
        return first < words.end() - 1 && *first == one.name;
      });
  if (command == commands.end()) {
    for (const Command& one : commands) to.add(one.name, one.help);
    if (word.starts_with("-")) add_options({}, to);
    return to.take();
  }
  const auto own = std::ranges::find(words, command->name) + 1;
  const Before before = read({own, words.end() - 1}, command->options);
  const std::size_t equals = word.find('=');
  if (before.waits != nullptr) {
    add_values(*before.waits, "", before.out, to);
  } else if (const Option* const option = before.ended || equals == std::string::npos
                                              ? nullptr
                                              : command->options.find(word.substr(
                                                    word.starts_with("--") ? 2 : 0,
                                                    equals - (word.starts_with("--") ? 2 : 0)))) {
    add_values(*option, word.substr(0, equals + 1), before.out, to);
  } else if (word.starts_with("-") && !before.ended) {
    add_options(command->options, to);
  } else {
    add_arguments(*command, before, to);
  }
  return to.take();
}

}  // namespace learn::cli
