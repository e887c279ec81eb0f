#!/usr/bin/env python3
"""Puts what a run on a GPU needs into one file, for a machine that has a GPU but no compiler, packages or network.

pack.py [--build-dir DIR] FILE.tar.xz

What is in it: the test programs, learn, the benches, the kernels, and every shared library they need but those of the
system (libc, libstdc++) and NVIDIA's driver, cuDNN and cuBLAS, which are found where the file is unpacked. DIR is
build/release unless given. There, in a tree of the same commit:

    tests/run.sh --gpu --pack FILE.tar.xz
"""
import argparse
import datetime
import json
import lzma
import os
import pathlib
import re
import subprocess
import sys
import tarfile

import run

ROOT = pathlib.Path(__file__).resolve().parents[3]
# Provided by the system that unpacks it, because their versions must match its kernel, loader and driver.
OF_THE_SYSTEM = re.compile(r"(ld-linux.*|linux-vdso|libc|libm|libdl|librt|libpthread|libstdc\+\+|libgcc_s|libcuda|libcudnn\w*|"
                           r"libcublas\w*|libnvrtc\w*)\.so\b")
MOST_BYTES = 30_000_000
# All programs share most of their text: a window that is wider than the distance between two of them finds it.
WINDOW = {"id": lzma.FILTER_LZMA2, "preset": 6, "dict_size": 128 << 20}


def built_files(place):
    """Files of the build to pack: path in it -> file. Ends the program if one is missing."""
    names = [*run.BUILT, run.FAKE_RUNTIME]
    try:
        run.check_built(place, names)
    except run.NotReady as reason:
        sys.exit(f"error: {reason}")
    return {name: place / name for name in names}


def libraries_of(files):
    """name -> path of each shared library that the files need and the system may not have."""
    found, unresolved = {}, set()
    for file in files:
        listed = subprocess.run(["ldd", str(file)], capture_output=True, text=True, check=True).stdout
        for line in listed.splitlines():
            name, _, path = (word.strip() for word in line.partition("=>"))
            path = path.split(" (")[0]
            if OF_THE_SYSTEM.match(name) or name.startswith("/") or name == "liblearn_cuda.so":
                continue
            if path == "not found":
                unresolved.add(name)
            elif path:
                found[name] = pathlib.Path(path).resolve()
    if unresolved:
        sys.exit(f"error: the loader does not find {', '.join(sorted(unresolved))}")
    return found


def facts(place):
    """Information about the build for the summary of the run, which the unpacking machine does not have."""
    cache = (place / "CMakeCache.txt").read_text(errors="replace")
    compiler = re.search(r"^CMAKE_CXX_COMPILER:\w+=(.*)$", cache, flags=re.MULTILINE)
    return {"commit": run.commit(), "date": datetime.date.today().isoformat(), "toolkit": run.toolkit(),
            "compiler": pathlib.Path(compiler[1]).name if compiler else ""}


def write(path, files, about):
    """A temporary name first: a file that was cut off must not look like a pack."""
    part = path.with_name(path.name + ".part")
    with lzma.open(part, "wb", format=lzma.FORMAT_XZ, filters=[WINDOW]) as stream, \
            tarfile.open(fileobj=stream, mode="w|") as archive:
        note = path.with_name(path.name + ".json")
        note.write_text(json.dumps(about, indent=1) + "\n")
        archive.add(note, "pack.json")
        note.unlink()
        for name, file in sorted(files.items()):
            archive.add(file, name, recursive=False)
    os.replace(part, path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build-dir", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("file", type=pathlib.Path)
    options = parser.parse_args()
    files = built_files(options.build_dir)
    files |= {f"lib/{name}": path for name, path in libraries_of(files.values()).items()}
    files["tests/lab/cuda/devices/h200.json"] = ROOT / "tests/lab/cuda/devices/h200.json"
    write(options.file, files, facts(options.build_dir))
    size, unpacked = options.file.stat().st_size, sum(path.stat().st_size for path in files.values())
    print(f"{options.file}: {size / 1e6:.1f} MB, {len(files)} files of {unpacked / 1e6:.0f} MB")
    if size > MOST_BYTES:
        sys.exit(f"error: that is more than {MOST_BYTES / 1e6:.0f} MB, which is what such a file may have")


if __name__ == "__main__":
    main()
