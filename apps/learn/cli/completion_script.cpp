// The scripts do not contain the options. They call the program, so they never become outdated.
#include "apps/learn/cli/completion.h"
#include "framework/core/options/suggest.h"

#include <algorithm>

namespace learn::cli {
namespace {

constexpr const char* kBash = R"(# bash completion for learn
# The word $1 without its quotes and backslashes: REPLY. If a quote is still open: quote, and
# before, the part of REPLY that stands before it.
_learn_plain() {
  local rest=$1 char
  REPLY= quote= before=
  while [[ -n $rest ]]; do
    char=${rest:0:1} rest=${rest:1}
    if [[ $char == "$quote" ]]; then
      quote=
    elif [[ -z $quote && $char == [\'\"] ]]; then
      quote=$char before=$REPLY
    elif [[ $char == \\ && $quote != \' ]]; then
      [[ $quote == \" && $rest != [\$\`\"\\]* ]] && REPLY+=$char
      REPLY+=${rest:0:1} rest=${rest:1}
    else
      REPLY+=$char
    fi
  done
}
# A candidate as it is typed: a name may hold what bash would expand or run. REPLY.
_learn_quoted() {
  REPLY=$1
  case $quote in
    \') REPLY=${REPLY//\'/\'\\\'\'} ;;
    \") REPLY=${REPLY//\\/\\\\} REPLY=${REPLY//\"/\\\"} REPLY=${REPLY//\$/\\$} REPLY=${REPLY//\`/\\\`} ;;
    *) [[ $REPLY == *[!A-Za-z0-9_./:=,@%+-]* ]] && printf -v REPLY %q "$REPLY" ;;
  esac
}
_learn() {
  local rest=${COMP_LINE:0:COMP_POINT} words=() piece trimmed i line current REPLY quote before
  # Bash parts words at = and : too; what nothing parts in the line is one word.
  for ((i = 0; i <= COMP_CWORD; i++)); do
    trimmed=${rest#"${rest%%[![:space:]]*}"}
    piece=${COMP_WORDS[i]}
    ((i == COMP_CWORD)) && piece=$trimmed
    if ((i == 0)) || [[ $trimmed != "$rest" ]]; then
      words+=("$piece")
    else
      words[${#words[@]}-1]+=$piece
    fi
    rest=${trimmed#"$piece"}
  done
  for ((i = 1; i < ${#words[@]}; i++)); do
    _learn_plain "${words[i]}"
    words[i]=$REPLY
  done
  current=$REPLY
  # What stands before the last = or : is there already, unless a quote holds all together.
  [[ -z $quote ]] && before= && [[ $current == *[=:]* ]] && before=${current%"${current##*[=:]}"}
  COMPREPLY=()
  while IFS= read -r line; do
    case $line in
      :files)
        compopt -o filenames 2>/dev/null
        while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "${current#"$before"}")
        ;;
      :folders)
        compopt -o filenames 2>/dev/null
        while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -d -- "${current#"$before"}")
        ;;
      ?*)
        line=${line%%$'\t'*}
        _learn_quoted "${line#"$before"}"
        COMPREPLY+=("$REPLY")
        [[ $line == *= ]] && compopt -o nospace 2>/dev/null
        ;;
    esac
  done < <("${words[0]/#\~/$HOME}" __complete "${words[@]:1}" 2>/dev/null)
}
complete -F _learn learn
)";

constexpr const char* kZsh = R"(#compdef learn
# zsh completion for learn
_learn() {
  local line name tab=$'\t'
  local -a names about open open_about asked
  asked=("${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}")
  for line in "${(@f)$("${(Q)words[1]/#\~/$HOME}" __complete "${(@)asked}" 2>/dev/null)}"; do
    name=${line%%$tab*}
    case $line in
      (:files) _files ;;
      (:folders) _files -/ ;;
      (*=|*=$tab*) open+=("$name") open_about+=("${line/$tab/  -- }") ;;
      (?*) names+=("$name") about+=("${line/$tab/  -- }") ;;
    esac
  done
  compadd -l -d about -a names
  compadd -l -S '' -d open_about -a open
}
if [[ $funcstack[1] == _learn ]]; then
  _learn "$@"
else
  compdef _learn learn
fi
)";

constexpr const char* kFish = R"(# fish completion for learn
function __learn_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l program (string replace -r '^~' $HOME -- $words[1])
    for line in ($program __complete $words[2..-1] "$current" 2>/dev/null)
        switch $line
            case ':files'
                __fish_complete_path "$current"
            case ':folders'
                __fish_complete_directories "$current"
            case '*'
                echo $line
        end
    end
end
complete -c learn -f -a '(__learn_complete)'
)";

struct Shell {
  std::string name;
  const char* script;
  std::string place;
};

const std::vector<Shell>& all_shells() {
  static const std::vector<Shell> all{{"bash", kBash, "bash-completion/completions/learn"},
                                      {"zsh", kZsh, "zsh/site-functions/_learn"},
                                      {"fish", kFish, "fish/vendor_completions.d/learn.fish"}};
  return all;
}

const Shell& shell_of(const std::string& name) {
  require_known("shell", name, shells());
  return *std::ranges::find(all_shells(), name, &Shell::name);
}

}  // namespace

std::vector<std::string> shells() {
  std::vector<std::string> names;
  for (const Shell& shell : all_shells()) names.push_back(shell.name);
  return names;
}

std::string completion_script(const std::string& shell) { return shell_of(shell).script; }

std::filesystem::path completion_place(const std::string& shell) { return shell_of(shell).place; }

}  // namespace learn::cli
