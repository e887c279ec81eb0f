#!/usr/bin/env bash
# Writes the API reference, as HTML, to FOLDER (build/docs), and fails on any warning of Doxygen: tests/lab/tools/docs.sh [FOLDER]
set -euo pipefail
cd "$(dirname "$0")/../../.."
folder=${1:-build/docs}
mkdir -p "$folder"
{
  cat framework/docs/Doxyfile
  echo "OUTPUT_DIRECTORY = $folder"
  echo "PROJECT_NUMBER = $(sed -nE 's/^project\(.*VERSION ([0-9.]+).*/\1/p' CMakeLists.txt)"
} | doxygen -
echo "API reference: $folder/index.html"
