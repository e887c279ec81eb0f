#pragma once
#include <string>
#include <utility>

namespace learn::cuda {

/// A library that is loaded when it is first needed, so that programs start without it and without
/// the seconds it takes. Stays loaded.
class SharedLibrary {
 public:
  /// `name` as the loader looks for it; then `path`, where the build found it (may be empty); then
  /// Python's folders, where pip's `package` puts it.
  SharedLibrary(std::string name, std::string path, std::string package)
      : name_(std::move(name)), path_(std::move(path)), package_(std::move(package)) {}

  /// The function `symbol`. If the program itself holds one, by linking or preloading the library
  /// or another in its place, then that one. Throws DeviceError with the loader's text.
  template <class Function>
  [[nodiscard]] Function* function(const char* symbol) {
    return reinterpret_cast<Function*>(address(symbol));
  }
  /// The function `symbol`, or null if the library does not have it. Throws DeviceError if the
  /// library cannot be loaded.
  template <class Function>
  [[nodiscard]] Function* optional_function(const char* symbol) {
    return reinterpret_cast<Function*>(find(symbol));
  }

 private:
  void* address(const char* symbol);
  void* find(const char* symbol);

  std::string name_;
  std::string path_;
  std::string package_;
  void* handle_ = nullptr;
};

}  // namespace learn::cuda
