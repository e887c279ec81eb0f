#pragma once
#include "tests/lab/cuda/fake/instruction.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace fakecuda {

/// A source line, and the line it was inlined into.
struct Place {
  int file = 0;
  int line = 0;
  int outer_file = 0;
  int outer_line = 0;
  bool operator==(const Place&) const = default;
};

/// A variable of the module: its kind of memory and its address there.
struct ModuleVariable {
  Space space = Space::global;
  std::uint64_t address = 0;  ///< on the device, or in shared memory once a kernel places it
  std::size_t bytes = 0;
  std::size_t alignment = 1;
  bool dynamic = false;  ///< extern __shared__
};

/// The PTX of one translation unit. Kernels are parsed at their first use.
class PtxModule {
 public:
  explicit PtxModule(std::string text);
  ~PtxModule() = default;
  PtxModule(const PtxModule&) = delete;
  PtxModule& operator=(const PtxModule&) = delete;

  /// Null if there is no such kernel.
  [[nodiscard]] const Kernel* kernel(std::string_view name);
  [[nodiscard]] std::vector<std::string> kernel_names() const;
  [[nodiscard]] const ModuleVariable* variable(std::string_view name) const;
  /// "batch_norm.cu:31, inlined at batch_norm.cu:55".
  [[nodiscard]] std::string where(int place) const;
  [[nodiscard]] const Place& place(int index) const {
    return places_[static_cast<std::size_t>(index)];
  }
  [[nodiscard]] std::string file(int number) const;
  int add_place(const Place& place);
  /// Kernels that were read, that is, launched.
  [[nodiscard]] const std::map<std::string, std::unique_ptr<Kernel>, std::less<>>& read_kernels()
      const {
    return kernels_;
  }

 private:
  struct Body {
    std::size_t begin;
    int line;
  };
  void scan();
  void read_variable(std::string_view declaration, Space space);

  std::string text_;
  std::map<std::string, Body, std::less<>> bodies_;
  std::map<std::string, std::unique_ptr<Kernel>, std::less<>> kernels_;
  std::map<std::string, ModuleVariable, std::less<>> variables_;
  std::map<int, std::string> files_;
  std::vector<Place> places_{Place{}};
};

/// A declaration of a variable, ".align 16 .b8 name[64]" or ".u32 name = 3": what comes after the
/// space.
struct Declaration {
  std::string name;
  std::size_t bytes = 0;
  std::size_t element = 0;
  std::size_t alignment = 1;
  bool open_array = false;  ///< name[]
  std::string initial;
};
[[nodiscard]] Declaration parse_declaration(std::string_view text);

/// Reads the kernel whose text starts at its name.
[[nodiscard]] std::unique_ptr<Kernel> read_kernel(PtxModule& module,
                                                  std::string_view text,
                                                  int line);

}  // namespace fakecuda
