// From the text of one kernel to decoded instructions.
#include "tests/lab/cuda/fake/decode.h"
#include "tests/lab/cuda/fake/limits.h"
#include "tests/lab/cuda/fake/ptx_module.h"
#include "tests/lab/cuda/fake/ptx_text.h"
#include "tests/lab/cuda/fake/stop.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>

namespace fakecuda {
namespace {

constexpr std::array<std::string_view, 20> kSpecialNames{
    "%tid.x",       "%tid.y",       "%tid.z",       "%ntid.x",      "%ntid.y",
    "%ntid.z",      "%ctaid.x",     "%ctaid.y",     "%ctaid.z",     "%nctaid.x",
    "%nctaid.y",    "%nctaid.z",    "%laneid",      "%warpid",      "%lanemask_eq",
    "%lanemask_lt", "%lanemask_le", "%lanemask_gt", "%lanemask_ge", "%dynamic_smem_size"};

std::size_t round_up(std::size_t value, std::size_t to) { return (value + to - 1) / to * to; }

class KernelReader final : public Names {
 public:
  KernelReader(PtxModule& module, std::string_view text, int line)
      : module_(module), reader_(text, line), kernel_(std::make_unique<Kernel>()) {}

  std::unique_ptr<Kernel> read() {
    kernel_->name = std::string(reader_.word());
    if (reader_.peek() == '(') read_parameters();
    read_properties();
    reader_.take('{');
    scopes_.emplace_back();
    while (!scopes_.empty()) read_one();
    resolve_labels();
    kernel_->executed.assign(kernel_->code.size(), 0);
    // The lanes fall off the end only in text that is cut off.
    if (kernel_->code.empty() || kernel_->code.back().flow == Flow::next)
      stop("kernel {} has no end", kernel_->name);
    return std::move(kernel_);
  }

  Register find_register(std::string_view name) const override {
    for (std::size_t i = scopes_.size(); i-- > 0;)
      if (const auto found = scopes_[i].find(name); found != scopes_[i].end()) return found->second;
    return {};
  }

  std::uint32_t value_plane(std::string_view text, int bytes) override {
    const auto special = std::find(kSpecialNames.begin(), kSpecialNames.end(), text);
    if (special != kSpecialNames.end())
      return bytes == 4 ? special_plane(static_cast<Special>(special - kSpecialNames.begin()))
                        : kNoPlane;
    std::uint64_t value = 0;
    if (!immediate(text, value) && !address_of(text, value)) return kNoPlane;
    for (const Constant& known : kernel_->constants)
      if (known.bytes == bytes && known.value == value) return known.plane;
    kernel_->constants.push_back({new_plane(bytes), bytes, value});
    return kernel_->constants.back().plane;
  }

  void want_label(std::size_t instruction, std::string_view label) override {
    wanted_.emplace_back(instruction, std::string(label));
  }

 private:
  void read_parameters() {
    reader_.take('(');
    for (const std::string& text : split_commas(reader_.until(')'))) {
      const std::size_t space = text.find(".param");
      if (space == std::string::npos) stop("kernel {}: parameter '{}'", kernel_->name, text);
      // ".ptr .align 4" tells what a pointer points to, not how the parameter is aligned.
      std::string rest = text.substr(space + 6);
      if (const std::size_t ptr = rest.find(".ptr"); ptr != std::string::npos)
        rest = rest.substr(0, ptr) + rest.substr(rest.rfind(' '));
      const Declaration parameter = parse_declaration(rest);
      kernel_->parameter_bytes = round_up(kernel_->parameter_bytes, parameter.alignment);
      addresses_[parameter.name] = kernel_->parameter_bytes;
      kernel_->parameters.push_back({kernel_->parameter_bytes, parameter.bytes});
      kernel_->parameter_bytes += parameter.bytes;
    }
  }

  static std::vector<std::string> split_commas(const std::string& text) {
    std::vector<std::string> pieces;
    std::size_t begin = 0;
    while (begin < text.size()) {
      const std::size_t comma = std::min(text.find(',', begin), text.size());
      pieces.push_back(text.substr(begin, comma - begin));
      while (!pieces.back().empty() && pieces.back().back() == ' ') pieces.back().pop_back();
      begin = comma + 1;
    }
    return pieces;
  }

  void read_properties() {
    while (reader_.peek() != '{') {
      const std::string word(reader_.word());
      if (word == ".maxntid" || word == ".reqntid") {
        int threads = 1;
        for (;;) {
          threads *= std::atoi(std::string(reader_.word()).c_str());
          if (reader_.peek() != ',') break;
          reader_.take(',');
        }
        kernel_->max_threads = std::min(threads, kMaxThreads);
      } else if (word == ".minnctapersm" || word == ".maxnreg") {
        (void)reader_.word();
      } else {
        stop("kernel {}: the directive '{}' is not modelled", kernel_->name, word);
      }
    }
  }

  void read_one() {
    if (reader_.peek() == '}') {
      reader_.take('}');
      scopes_.pop_back();
      return;
    }
    if (reader_.peek() == '{') {
      reader_.take('{');
      scopes_.emplace_back();
      return;
    }
    const int line = reader_.line();
    if (reader_.peek() == '@') {
      read_statement("", line);
      return;
    }
    const std::string word(reader_.word());
    if (reader_.peek() == ':') {
      reader_.take(':');
      labels_[word] = static_cast<std::int32_t>(kernel_->code.size());
      last_label_ = word;
    } else if (word == ".reg") {
      declare_registers(reader_.until(';'));
    } else if (word == ".shared" || word == ".local") {
      declare_variable(reader_.until(';'), word == ".shared");
    } else if (word == ".loc") {
      read_place();
    } else if (word == ".pragma") {
      (void)reader_.until(';');
    } else if (word == ".branchtargets") {
      tables_[last_label_] = split_operands(reader_.until(';'));
    } else {
      read_statement(word, line);
    }
  }

  void declare_registers(const std::string& text) {
    const std::size_t blank = text.find(' ');
    const Type type = parse_type(std::string_view(text).substr(1, blank - 1));
    if (type == Type::none)
      stop("PTX line {}: registers '{}' are not modelled", reader_.line(), text);
    for (const std::string& name : split_operands(std::string_view(text).substr(blank))) {
      const std::size_t bracket = name.find('<');
      if (bracket == std::string::npos) {
        scopes_.back()[name] = {new_plane(bytes_of(type), type), type};
        continue;
      }
      const int count = std::atoi(name.c_str() + bracket + 1);
      for (int i = 0; i < count; ++i)
        scopes_.back()[name.substr(0, bracket) + std::to_string(i)] = {
            new_plane(bytes_of(type), type), type};
    }
  }

  void declare_variable(const std::string& text, bool shared) {
    const Declaration variable = parse_declaration(text);
    if (shared) {
      addresses_[variable.name] = place_shared(variable.bytes, variable.alignment);
    } else {
      kernel_->local_bytes = round_up(kernel_->local_bytes, variable.alignment);
      addresses_[variable.name] = kernel_->local_bytes;
      kernel_->local_bytes += variable.bytes;
    }
  }

  std::size_t place_shared(std::size_t bytes, std::size_t alignment) {
    Kernel& kernel = *kernel_;
    const std::size_t at = round_up(kernel.shared_bytes, std::max<std::size_t>(alignment, 16));
    kernel.shared.push_back({at, bytes});
    kernel.shared_bytes = at + bytes + kSharedGap;
    kernel.static_shared = round_up(kernel.static_shared, alignment) + bytes;
    return at;
  }

  /// ".loc 1 31 5, function_name $L__info_string0, inlined_at 2 55 3"
  void read_place() {
    const auto number = [&] { return std::atoi(std::string(reader_.word()).c_str()); };
    Place place{.file = number(), .line = number()};
    (void)reader_.word();
    if (reader_.peek() == ',') {
      reader_.take(',');
      (void)reader_.word();
      (void)reader_.word();
      reader_.take(',');
      (void)reader_.word();
      place.outer_file = number();
      place.outer_line = number();
      (void)reader_.word();
    }
    place_ = module_.add_place(place);
  }

  void read_statement(const std::string& first_word, int line) {
    Statement statement{.line = line, .place = place_};
    std::string text = first_word + " " + reader_.until(';');
    const std::size_t begin = text.find_first_not_of(' ');
    text = text.substr(begin);
    statement.text = text;
    if (text.starts_with('@')) {
      const std::size_t blank = text.find(' ');
      statement.guard_negated = text[1] == '!';
      const std::size_t name = statement.guard_negated ? 2 : 1;
      statement.guard = text.substr(name, blank - name);
      text = text.substr(text.find_first_not_of(' ', blank));
    }
    const std::size_t blank = std::min(text.find(' '), text.size());
    statement.parts = split_dots(std::string_view(text).substr(0, blank));
    statement.operands = split_operands(std::string_view(text).substr(blank));

    Instruction instruction;
    instruction.index = static_cast<std::uint32_t>(kernel_->code.size());
    decode(statement, *this, instruction);
    note_granule(statement, instruction);
    kernel_->code.push_back(instruction);
    kernel_->origins.push_back({line, place_, statement.text});
  }

  /// The race check need not resolve more than the smallest access there is.
  void note_granule(const Statement& statement, const Instruction& instruction) {
    const std::string& opcode = statement.parts[0];
    if (opcode == "fence" || opcode == "membar") kernel_->fences = true;
    if (opcode != "ld" && opcode != "st" && opcode != "atom" && opcode != "red") return;
    if (instruction.type == Type::none) return;  // not modelled
    const int count = opcode == "st" ? instruction.ins - 1 : opcode == "ld" ? instruction.outs : 1;
    const int bytes = bytes_of(instruction.type) * std::max(count, 1);
    const auto shrink = [&](int& granule) { granule = std::min(granule, bytes); };
    if (instruction.space == Space::global || instruction.space == Space::generic)
      shrink(kernel_->global_granule);
    if (instruction.space == Space::shared || instruction.space == Space::generic)
      shrink(kernel_->shared_granule);
  }

  std::uint32_t new_plane(int bytes, Type type = Type::none) {
    const std::size_t at = round_up(kernel_->file_bytes, 64);
    kernel_->file_bytes = at + static_cast<std::size_t>(type == Type::pred ? 4 : bytes * kWarp);
    return static_cast<std::uint32_t>(at);
  }

  std::uint32_t special_plane(Special which) {
    for (const SpecialPlane& known : kernel_->specials)
      if (known.which == which) return known.plane;
    kernel_->specials.push_back({new_plane(4), which});
    return kernel_->specials.back().plane;
  }

  static bool immediate(std::string_view text, std::uint64_t& value) {
    const std::string word(text);
    if (word.size() > 2 && word[0] == '0' &&
        std::string_view("fFdD").find(word[1]) != std::string_view::npos) {
      value = std::strtoull(word.c_str() + 2, nullptr, 16);
      return true;
    }
    if (word == "WARP_SZ") {
      value = kWarp;
      return true;
    }
    if (word.empty() || (std::isdigit(static_cast<unsigned char>(word[0])) == 0 && word[0] != '-'))
      return false;
    value = word[0] == '-' ? static_cast<std::uint64_t>(std::strtoll(word.c_str(), nullptr, 0))
                           : std::strtoull(word.c_str(), nullptr, 0);
    return true;
  }

  bool address_of(std::string_view text, std::uint64_t& value) {
    const std::string name(text);
    if (const auto known = addresses_.find(name); known != addresses_.end()) {
      value = known->second;
      return true;
    }
    const ModuleVariable* const variable = module_.variable(name);
    if (variable == nullptr) return false;
    if (variable->space != Space::shared) {
      value = variable->address;
      return true;
    }
    if (variable->dynamic) {
      // All dynamic arrays of a kernel are one; it is after every static variable.
      kernel_->dynamic_shared = true;
      value = kDynamicShared;
    } else {
      value = addresses_[name] = place_shared(variable->bytes, variable->alignment);
    }
    return true;
  }

  void resolve_labels() {
    const auto find = [&](const std::string& label) {
      const auto found = labels_.find(label);
      if (found == labels_.end()) stop("kernel {}: no label {}", kernel_->name, label);
      return found->second;
    };
    for (const auto& [instruction, label] : wanted_) {
      Instruction& branch = kernel_->code[instruction];
      if (branch.flow == Flow::branch) {
        branch.target = find(label);
      } else {
        branch.target = static_cast<std::int32_t>(kernel_->tables.size());
        kernel_->tables.emplace_back();
        for (const std::string& target : tables_[label])
          kernel_->tables.back().push_back(find(target));
      }
    }
  }

  PtxModule& module_;
  PtxReader reader_;
  std::unique_ptr<Kernel> kernel_;
  std::vector<std::map<std::string, Register, std::less<>>> scopes_;
  std::map<std::string, std::uint64_t> addresses_;
  std::map<std::string, std::int32_t> labels_;
  std::map<std::string, std::vector<std::string>> tables_;
  std::vector<std::pair<std::size_t, std::string>> wanted_;
  std::string last_label_;
  int place_ = 0;
};

}  // namespace

std::unique_ptr<Kernel> read_kernel(PtxModule& module, std::string_view text, int line) {
  return KernelReader(module, text, line).read();
}

}  // namespace fakecuda
