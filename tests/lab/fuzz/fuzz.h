#pragma once
#include "framework/core/error.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <string_view>

/// Common code of the fuzz targets. Each target is one function of bytes; libFuzzer calls it with
/// generated inputs, replay.cpp with the files of the corpus.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size);

namespace learn::fuzz {

/// A file of these bytes, in memory alone. There is one for the whole process: the next call gives
/// it other content.
[[nodiscard]] std::filesystem::path file_of(std::span<const std::uint8_t> bytes);

[[nodiscard]] inline std::string_view text_of(std::span<const std::uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// For what must hold of any input that is accepted: ends the process, as a crash does.
inline void require(bool holds) {
  if (!holds) std::abort();
}

/// Runs `read`, which may refuse its input by an error of `learn` whose exit code is one of
/// `codes`: anything else is a fault.
template <class Read>
void may_refuse(std::initializer_list<ExitCode> codes, Read&& read) {
  try {
    read();
  } catch (const Error& error) {
    bool expected = false;
    for (const ExitCode code : codes) expected = expected || error.exit_code() == code;
    require(expected);
  }
}

}  // namespace learn::fuzz
