// replay FILE|FOLDER...: gives a target each input once, as libFuzzer does with -runs=0, for builds
// without libFuzzer.
#include "tests/lab/fuzz/fuzz.h"

#include <cstdio>
#include <fstream>
#include <iterator>
#include <set>
#include <vector>

namespace fs = std::filesystem;

int main(int argc, char** argv) {
  std::set<fs::path> inputs;
  for (int i = 1; i < argc; ++i) {
    if (fs::is_directory(argv[i]))
      for (const fs::directory_entry& entry : fs::directory_iterator(argv[i])) inputs.insert(entry);
    else
      inputs.insert(argv[i]);
  }
  for (const fs::path& input : inputs) {
    std::ifstream in(input, std::ios::binary);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(in), {}};
    if (!in) {
      std::fprintf(stderr, "cannot read '%s'\n", input.c_str());
      return 2;
    }
    // A crash says nothing of the input that it came from.
    std::printf("%s\n", input.c_str());
    std::fflush(stdout);
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  }
  std::printf("%zu inputs\n", inputs.size());
  return inputs.empty() ? 2 : 0;
}
