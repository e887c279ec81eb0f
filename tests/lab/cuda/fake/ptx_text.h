#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace fakecuda {

/// Walks through PTX text: comments and blanks vanish, lines are counted.
class PtxReader {
 public:
  explicit PtxReader(std::string_view text, int line = 1) : text_(text), line_(line) {}

  [[nodiscard]] int line() const noexcept { return line_; }
  [[nodiscard]] std::size_t position() const noexcept { return at_; }
  [[nodiscard]] bool at_end();
  /// The next character that means something, not taken; 0 at the end.
  [[nodiscard]] char peek();
  void take(char expected);
  /// Letters, digits and . _ $ % and double colons.
  [[nodiscard]] std::string_view word();
  /// Everything before `stop`, which is taken as well; comments are left out, blanks are single.
  [[nodiscard]] std::string until(char stop);
  void skip_line();
  /// Past the brace that closes the one just taken.
  void skip_block();

 private:
  void skip_blank();
  bool skip_comment();

  std::string_view text_;
  std::size_t at_ = 0;
  int line_;
};

/// The pieces between commas (and | between two destinations) outside braces and brackets, no
/// blanks.
[[nodiscard]] std::vector<std::string> split_operands(std::string_view text);
/// "ld.global.v4.f32" -> ld global v4 f32; "cvta.to.global.u64"; "L1::no_allocate" stays whole.
[[nodiscard]] std::vector<std::string> split_dots(std::string_view text);

}  // namespace fakecuda
