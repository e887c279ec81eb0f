#!/usr/bin/env bash
# Installs the distribution's packages that are missing: for the build, and with --tests for the tests
# and lint as well. A machine that has them all never reaches apt, so it may be offline. The CUDA toolkit
# and cuDNN are NVIDIA's and not installed here: the CUDA backend is built where nvcc >= 12 and cuDNN >= 9 are.
set -euo pipefail

packages=(g++ cmake ninja-build pkg-config libspdlog-dev libfmt-dev libcli11-dev doctest-dev
  nlohmann-json3-dev libtomlplusplus-dev libturbojpeg0-dev libpng-dev libssl-dev zlib1g-dev libarchive-dev)
if [ "${1:-}" = --tests ]; then
  packages+=(python3 git clang-format clang-tidy shellcheck)
fi

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$status" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

if ! command -v apt-get >/dev/null; then
  echo "error: this script knows apt-get only; please install: ${missing[*]}" >&2
  exit 1
fi
sudo=()
if [ "$(id -u)" != 0 ]; then
  command -v sudo >/dev/null || { echo "error: run as root or install sudo; missing: ${missing[*]}" >&2; exit 1; }
  sudo=(sudo)
fi
echo "installing: ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
"${sudo[@]}" apt-get update -qq
"${sudo[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
