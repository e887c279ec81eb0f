#!/usr/bin/env bash
# Trains a network from scratch: installs missing packages, builds, trains, and leaves a run directory.
# Further arguments are passed to `learn train`: apps/quickstart.sh --epochs 3 --data cifar10
set -euo pipefail
here=$PWD
root=$(cd "$(dirname "$0")/.." && pwd)

"$root/framework/cmake/install_packages.sh"
echo "building (some minutes the first time)"
"$root/framework/cmake/build.sh" release learn
cd "$here"
exec "$root/build/release/bin/learn" train --preset quick "$@"
