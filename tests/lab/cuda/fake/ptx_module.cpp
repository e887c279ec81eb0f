#include "tests/lab/cuda/fake/ptx_module.h"

#include "tests/lab/cuda/fake/device_memory.h"
#include "tests/lab/cuda/fake/ptx_text.h"
#include "tests/lab/cuda/fake/stop.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <sstream>

namespace fakecuda {
namespace {

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

/// "{1, 2, 255}" or "3" as little-endian elements.
std::vector<std::byte> initial_bytes(const std::string& text,
                                     std::size_t element,
                                     std::size_t bytes) {
  std::vector<std::byte> image(bytes, std::byte{0});
  std::string list = text;
  if (list.starts_with('{')) list = list.substr(1, list.rfind('}') - 1);
  std::size_t at = 0;
  for (const std::string& word : split_operands(list)) {
    std::uint64_t value = 0;
    if (word.starts_with("0f") || word.starts_with("0F") || word.starts_with("0d") ||
        word.starts_with("0D"))
      value = std::strtoull(word.c_str() + 2, nullptr, 16);
    else if (word.starts_with('-'))
      value = static_cast<std::uint64_t>(std::strtoll(word.c_str(), nullptr, 0));
    else if (std::isdigit(static_cast<unsigned char>(word[0])) != 0)
      value = std::strtoull(word.c_str(), nullptr, 0);
    else
      stop("the initial value '{}' of a device variable is not modelled", word);
    if (at + element > bytes) stop("too many initial values for a device variable");
    std::memcpy(image.data() + at, &value, element);
    at += element;
  }
  return image;
}

}  // namespace

Declaration parse_declaration(std::string_view text) {
  Declaration declaration;
  std::string words(text);
  const std::size_t equals = words.find('=');
  if (equals != std::string::npos) {
    const std::size_t first = words.find_first_not_of(' ', equals + 1);
    declaration.initial = words.substr(first);
    words.resize(equals);
  }
  std::istringstream stream(words);
  std::size_t element = 0;
  for (std::string word; stream >> word;) {
    if (word == ".align") {
      stream >> declaration.alignment;
    } else if (word.starts_with('.') && parse_type(word.substr(1)) != Type::none) {
      element = static_cast<std::size_t>(bytes_of(parse_type(word.substr(1))));
    } else if (word.starts_with('.')) {
      // .ptr, .attribute and their like say nothing about size.
    } else if (declaration.name.empty()) {
      const std::size_t bracket = word.find('[');
      declaration.name = word.substr(0, bracket);
      std::size_t count = 1;
      if (bracket != std::string::npos) {
        declaration.open_array = word.find("[]") != std::string::npos;
        count = std::strtoull(word.c_str() + bracket + 1, nullptr, 10);
      }
      declaration.bytes = element * count;
      declaration.alignment = std::max(declaration.alignment, element);
    }
  }
  declaration.element = element;
  if (declaration.name.empty() || element == 0) stop("PTX: cannot read the variable '{}'", text);
  return declaration;
}

PtxModule::PtxModule(std::string text) : text_(std::move(text)) { scan(); }

void PtxModule::scan() {
  PtxReader reader(text_);
  while (!reader.at_end()) {
    if (reader.peek() == '}' || reader.peek() == '{')
      stop("PTX line {}: stray brace", reader.line());
    const std::string word(reader.word());
    if (word == ".visible" || word == ".weak" || word == ".extern" || word == ".common") continue;
    if (word == ".entry") {
      const Body body{reader.position(), reader.line()};
      const std::string name(reader.word());
      bodies_.emplace(name, body);
      (void)reader.until('{');
      reader.skip_block();
    } else if (word == ".func" || word == ".section") {
      (void)reader.until('{');  // functions are modelled when something calls them: never
      reader.skip_block();
    } else if (word == ".file") {
      const int number = std::atoi(std::string(reader.word()).c_str());
      reader.take('"');
      files_[number] = reader.until('"');
      reader.skip_line();
    } else if (word == ".global" || word == ".const") {
      read_variable(reader.until(';'), word == ".const" ? Space::constant : Space::global);
    } else if (word == ".shared") {
      read_variable(reader.until(';'), Space::shared);
    } else if (word == ".version" || word == ".target" || word == ".address_size") {
      reader.skip_line();
    } else {
      stop("PTX line {}: the directive '{}' is not modelled", reader.line(), word);
    }
  }
}

void PtxModule::read_variable(std::string_view declaration_text, Space space) {
  const Declaration declaration = parse_declaration(declaration_text);
  ModuleVariable variable{.space = space,
                          .bytes = declaration.bytes,
                          .alignment = declaration.alignment,
                          .dynamic = declaration.open_array};
  if (space != Space::shared) {
    void* const memory = allocate_for_module(std::max<std::size_t>(declaration.bytes, 1));
    variable.address = reinterpret_cast<std::uintptr_t>(memory);
    const std::vector<std::byte> image =
        initial_bytes(declaration.initial, declaration.element, declaration.bytes);
    copy_bytes(memory, image.data(), image.size());
  }
  variables_.emplace(declaration.name, variable);
}

const Kernel* PtxModule::kernel(std::string_view name) {
  const auto known = kernels_.find(name);
  if (known != kernels_.end()) return known->second.get();
  const auto body = bodies_.find(name);
  if (body == bodies_.end()) return nullptr;
  auto kernel =
      read_kernel(*this, std::string_view(text_).substr(body->second.begin), body->second.line);
  return kernels_.emplace(std::string(name), std::move(kernel)).first->second.get();
}

std::vector<std::string> PtxModule::kernel_names() const {
  std::vector<std::string> names;
  for (const auto& [name, body] : bodies_) names.push_back(name);
  return names;
}

const ModuleVariable* PtxModule::variable(std::string_view name) const {
  const auto found = variables_.find(name);
  return found == variables_.end() ? nullptr : &found->second;
}

int PtxModule::add_place(const Place& place) {
  if (!(places_.back() == place)) places_.push_back(place);
  return static_cast<int>(places_.size()) - 1;
}

std::string PtxModule::file(int number) const {
  const auto found = files_.find(number);
  return found == files_.end() ? "?" : base_name(found->second);
}

std::string PtxModule::where(int index) const {
  const Place& place = places_[static_cast<std::size_t>(index)];
  if (place.line == 0) return "no source line";
  std::string text = fmt::format("{}:{}", file(place.file), place.line);
  if (place.outer_line != 0)
    text += fmt::format(", inlined at {}:{}", file(place.outer_file), place.outer_line);
  return text;
}

}  // namespace fakecuda
