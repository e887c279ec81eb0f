// Any file as an archive: opened, listed, every file in it read.
#include "data/file_tree.h"
#include "tests/fuzz/fuzz.h"

#include <algorithm>

using namespace learn;

namespace {

void read_folder(const data::FileTree& tree, const std::filesystem::path& folder) {
  for (const std::string& name : tree.folders(folder)) {
    fuzz::require(!name.empty() && name != "." && name != "..");
    fuzz::require(tree.has_folder(folder / name));
    read_folder(tree, folder / name);
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  fuzz::may_refuse({ExitCode::data}, [&] {
    const auto tree = data::open_archive(fuzz::file_of({bytes, size}));
    read_folder(*tree, {});
    const auto files = tree->files({});
    fuzz::require(std::is_sorted(files.begin(), files.end()));
    for (const std::filesystem::path& file : files) {
      fuzz::require(file.is_relative() && *file.begin() != "..");
      fuzz::require(tree->has_file(file) && tree->read(file).size() == tree->bytes(file));
    }
  });
  return 0;
}
