// Any file as a checkpoint: opened, its metadata and every tensor read.
#include "framework/io/safetensors.h"
#include "tests/lab/fuzz/fuzz.h"

using namespace learn;

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  fuzz::may_refuse({ExitCode::checkpoint}, [&] {
    const SafetensorsFile file(fuzz::file_of({bytes, size}));
    std::uint64_t read = 0;
    for (const auto& [name, entry] : file.tensors()) {
      std::vector<std::byte> data(entry.end - entry.begin);
      file.read(entry, data);
      fuzz::require(name == entry.name);
      fuzz::require(static_cast<std::uint64_t>(entry.shape.elements()) * size_of(entry.dtype) ==
                    data.size());
      read += data.size();
    }
    fuzz::require(read <= size);
    // A file of this version of learn: any change of a byte is refused.
    if (!file.metadata().contains(std::string(kHash)))
      fuzz::require(!file.metadata().contains(std::string(kFormat)));
  });
  return 0;
}
