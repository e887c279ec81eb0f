#include "framework/runtime/library_search.h"

#include "tests/support/temporary_folder.h"

#include <dlfcn.h>
#include <doctest/doctest.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <vector>

using namespace learn;
namespace fs = std::filesystem;

namespace {

/// The variables that name Pythons, all unset but those given; as before at the end.
// NOLINTNEXTLINE(cppcoreguidelines-special-member-functions): never copied
class Variables {
 public:
  explicit Variables(const std::map<std::string, std::string>& values) {
    for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX", "PATH", "HOME"}) {
      const char* const before = std::getenv(name);
      before_.emplace_back(name,
                           before != nullptr ? std::optional<std::string>(before) : std::nullopt);
      const auto value = values.find(name);
      if (value == values.end())
        (void)unsetenv(name);
      else
        (void)setenv(name, value->second.c_str(), 1);
    }
  }
  ~Variables() {
    for (const auto& [name, value] : before_)
      if (value)
        (void)setenv(name.c_str(), value->c_str(), 1);
      else
        (void)unsetenv(name.c_str());
  }

 private:
  std::vector<std::pair<std::string, std::optional<std::string>>> before_;
};

/// A folder of one of pip's packages, made under a prefix.
std::string packages(const fs::path& prefix,
                     const std::string& name,
                     const std::string& python = "python3.11",
                     const std::string& kind = "site-packages") {
  const fs::path folder = prefix / "lib" / python / kind / "nvidia" / name / "lib";
  fs::create_directories(folder);
  return folder.string();
}

/// Where zlib, which every test program has at hand, was loaded from.
fs::path some_library() {
  void* const handle = dlopen("libz.so.1", RTLD_NOW);
  REQUIRE(handle != nullptr);
  link_map* map = nullptr;
  REQUIRE(dlinfo(handle, RTLD_DI_LINKMAP, static_cast<void*>(&map)) == 0);
  return fs::canonical(map->l_name);
}

}  // namespace

TEST_CASE("Python's folders: the environment's, conda's, PATH's, the user's, in this order") {
  const TemporaryFolder folder;
  const std::string cudnn = packages(folder / "venv", "cudnn");
  const std::string cu13 = packages(folder / "venv", "cu13");
  const std::string conda = packages(folder / "conda", "cublas", "python3.9");
  const std::string newer = packages(folder / "conda", "cudnn", "python3.12");
  const std::string debian = packages(folder / "usr", "cudnn", "python3", "dist-packages");
  const std::string root =
      packages(folder / "usr" / "local", "cu13", "python3.11", "dist-packages");
  const std::string user = packages(folder / "home" / ".local", "cudnn");
  fs::create_directories(folder / "usr/bin");
  std::ofstream(folder / "usr/bin/python3") << "exit 1\n";  // it is not run
  // No libraries, no Python, not absolute, no folder.
  fs::create_directories(folder / "venv/lib/python3.11/site-packages/nvidia/empty");
  fs::create_directories(folder / "venv/lib/perl5/site-packages/nvidia/cudnn/lib");
  (void)packages(folder / "none", "cudnn");
  fs::create_directories(folder / "none/bin");
  const Variables variables(
      {{"VIRTUAL_ENV", folder / "venv"},
       {"CONDA_PREFIX", folder / "conda"},
       {"PATH",
        ".::" + (folder / "none/bin").string() + ":" + (folder / "usr/bin").string() + ":/nowhere"},
       {"HOME", folder / "home"}});
  std::vector<std::string> found = python_library_folders();
  REQUIRE(found.size() == 7);
  std::sort(found.begin(), found.begin() + 2);
  CHECK(found == std::vector<std::string>{cu13, cudnn, newer, conda, debian, root, user});
}

TEST_CASE("a relative environment, or none, has no folders") {
  const TemporaryFolder folder;
  (void)packages(folder / "venv", "cudnn");
  const fs::path before = fs::current_path();
  fs::current_path(folder.path());
  {
    const Variables variables({{"VIRTUAL_ENV", "venv"}, {"PATH", "venv/bin:"}});
    CHECK(python_library_folders().empty());
  }
  fs::current_path(before);
  const Variables none({});
  CHECK(python_library_folders().empty());
}

TEST_CASE("a library is loaded from Python's folders where the loader does not find it") {
  const TemporaryFolder folder;
  const std::string damaged = packages(folder / "a", "cudnn");
  std::ofstream(fs::path(damaged) / "liblearn_test.so.7") << "no library";
  const Variables variables({{"VIRTUAL_ENV", folder / "a"}, {"CONDA_PREFIX", folder / "b"}});
  const OpenedLibrary none = open_library("liblearn_test.so.7", "", "nvidia-test-cu13");
  CHECK(none.handle == nullptr);
  CHECK(none.obstacle.find(damaged + "/liblearn_test.so.7: ") == 0);
  CHECK(none.obstacle.find("; also searched Python's folders: " + damaged +
                           ": install it (pip install nvidia-test-cu13) or add its folder to "
                           "LD_LIBRARY_PATH") != std::string::npos);
  const std::string whole = packages(folder / "b", "cudnn");
  fs::copy_file(some_library(), fs::path(whole) / "liblearn_test.so.7");
  const OpenedLibrary found = open_library("liblearn_test.so.7", "", "nvidia-test-cu13");
  CHECK(found.handle != nullptr);
  CHECK(found.obstacle.empty());
  CHECK(open_library("libz.so.1", "", "").handle != nullptr);
  CHECK(open_library("libnothing.so.0", some_library().string(), "").handle != nullptr);
}

TEST_CASE("a library that is nowhere is named with what to install") {
  const Variables none({});
  CHECK(open_library("libnothing.so.0", "", pip_package("cudnn", 13)).obstacle ==
        "libnothing.so.0: cannot open shared object file: No such file or directory; Python's "
        "folders do not contain NVIDIA's libraries either: install it (pip install "
        "nvidia-cudnn-cu13) or add its folder to LD_LIBRARY_PATH");
  CHECK(pip_package("cudnn", 12) == "nvidia-cudnn-cu12");
  CHECK(pip_package("cublas", 12) == "nvidia-cublas-cu12");
  CHECK(pip_package("cublas", 13) == "nvidia-cublas");
  CHECK(pip_package("nccl", 13) == "nvidia-nccl-cu13");
  CHECK(pip_package("cuda-runtime", 13) == "nvidia-cuda-runtime");
}
