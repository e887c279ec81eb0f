// Any file as an archive: opened, listed, every file in it read; then once more for what is whole
// in it.
#include "data/files/file_tree.h"
#include "tests/lab/fuzz/fuzz.h"

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

void read_all(const data::FileTree& tree) {
  read_folder(tree, {});
  const auto listed = tree.files({});
  const std::vector<std::filesystem::path> files(listed.begin(), listed.end());
  fuzz::require(std::is_sorted(files.begin(), files.end()));
  for (const std::filesystem::path& file : files) {
    fuzz::require(file.is_relative() && *file.begin() != "..");
    fuzz::require(tree.has_file(file) && tree.read(file).size() == tree.bytes(file));
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const auto path = fuzz::file_of({bytes, size});
  fuzz::may_refuse({ExitCode::data}, [&] { read_all(*data::open_archive(path)); });
  fuzz::may_refuse({ExitCode::data}, [&] {
    std::vector<data::TreeProblem> problems;
    read_all(*data::open_archive(path, problems));
    for (const data::TreeProblem& problem : problems) fuzz::require(!problem.why.empty());
  });
  return 0;
}
