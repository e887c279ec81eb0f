#pragma once
#include "framework/export/graph.h"

#include <filesystem>
#include <map>
#include <string>

namespace learn::exported {

/// What the files are written for: both are read by every onnxruntime since 1.11 of 2022, and
/// nothing newer is needed.
inline constexpr int kOnnxOperators = 17;
inline constexpr int kOnnxFormat = 8;

/// A graph as the bytes of an ONNX file: input (N,C,H,W) and output (N,classes), f32, with N named
/// "batch" and free. `metadata` become its metadata_props. Throws UsageError for a model of more
/// than the 2 GB that protobuf can hold.
[[nodiscard]] std::string onnx_text(const Graph& graph,
                                    const std::map<std::string, std::string>& metadata = {});

/// Writes them into a file, atomically. Throws IoError too.
void write_onnx(const std::filesystem::path& path,
                const Graph& graph,
                const std::map<std::string, std::string>& metadata = {});

}  // namespace learn::exported
