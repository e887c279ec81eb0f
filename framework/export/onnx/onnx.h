#pragma once
#include "framework/export/graph.h"

#include <filesystem>
#include <map>
#include <string>

namespace learn::exported {

/// Versions the files are written for. Every onnxruntime since 1.11 (2022) reads both, and nothing
/// newer is needed.
inline constexpr int kOnnxOperators = 17;
inline constexpr int kOnnxFormat = 8;

/// Returns a graph as the bytes of an ONNX file: input (N,C,H,W) and output (N,classes), f32, with
/// a dynamic N named "batch". `metadata` become its metadata_props. Throws UsageError for a model
/// above protobuf's limit of 2 GB.
[[nodiscard]] std::string onnx_text(const Graph& graph,
                                    const std::map<std::string, std::string>& metadata = {});

/// Writes these bytes to a file, atomically. Throws IoError too.
void write_onnx(const std::filesystem::path& path,
                const Graph& graph,
                const std::map<std::string, std::string>& metadata = {});

}  // namespace learn::exported
