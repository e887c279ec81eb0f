#include "tests/lab/cuda/fake/ptx_text.h"

#include "tests/lab/cuda/fake/stop.h"

#include <cctype>

namespace fakecuda {
namespace {

bool is_blank(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }
bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '$' ||
         c == '%';
}

}  // namespace

bool PtxReader::skip_comment() {
  const std::string_view rest = text_.substr(at_, 2);
  if (rest == "//") {
    while (at_ < text_.size() && text_[at_] != '\n') ++at_;
    return true;
  }
  if (rest != "/*") return false;
  for (at_ += 2; at_ < text_.size() && text_.substr(at_, 2) != "*/"; ++at_)
    if (text_[at_] == '\n') ++line_;
  at_ += 2;
  return true;
}

void PtxReader::skip_blank() {
  for (;;) {
    while (at_ < text_.size() && is_blank(text_[at_]))
      if (text_[at_++] == '\n') ++line_;
    if (!skip_comment()) return;
  }
}

bool PtxReader::at_end() {
  skip_blank();
  return at_ >= text_.size() || text_[at_] == '\0';
}

char PtxReader::peek() { return at_end() ? '\0' : text_[at_]; }

void PtxReader::take(char expected) {
  if (peek() != expected) stop("PTX line {}: '{}' expected, found '{}'", line_, expected, peek());
  ++at_;
}

std::string_view PtxReader::word() {
  skip_blank();
  const std::size_t begin = at_;
  for (;;) {
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    if (text_.substr(at_, 2) != "::") break;  // as in L1::no_allocate
    at_ += 2;
  }
  return text_.substr(begin, at_ - begin);
}

std::string PtxReader::until(char stop) {
  skip_blank();
  std::string taken;
  while (at_ < text_.size() && text_[at_] != stop) {
    if (skip_comment()) continue;
    if (text_[at_] == '\n') ++line_;
    const char c = is_blank(text_[at_]) ? ' ' : text_[at_];
    if (c != ' ' || taken.empty() || taken.back() != ' ') taken += c;
    ++at_;
  }
  if (at_ >= text_.size()) fakecuda::stop("PTX line {}: no '{}' until the end", line_, stop);
  ++at_;
  return taken;
}

void PtxReader::skip_line() {
  while (at_ < text_.size() && text_[at_] != '\n') ++at_;
}

void PtxReader::skip_block() {
  int depth = 1;
  while (depth > 0 && !at_end()) {
    if (text_[at_] == '{') ++depth;
    if (text_[at_] == '}') --depth;
    ++at_;
  }
}

std::vector<std::string> split_operands(std::string_view text) {
  std::vector<std::string> pieces;
  std::string piece;
  int depth = 0;
  for (const char c : text) {
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    if (depth == 0 && (c == ',' || c == '|')) {
      pieces.push_back(std::move(piece));
      piece.clear();
    } else if (!is_blank(c)) {
      piece += c;
    }
  }
  if (!piece.empty()) pieces.push_back(std::move(piece));
  return pieces;
}

std::vector<std::string> split_dots(std::string_view text) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= text.size(); ++i)
    if (i == text.size() || text[i] == '.') {
      parts.emplace_back(text.substr(begin, i - begin));
      begin = i + 1;
    }
  return parts;
}

}  // namespace fakecuda
