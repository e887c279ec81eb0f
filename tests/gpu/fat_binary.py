"""Reads what nvcc put into an executable: PTX texts and cubins, uncompressed (--compress-mode=none)."""
import pathlib
import struct
import subprocess

MAGIC = struct.pack("<I", 0xBA55ED50)
PTX, CUBIN = 1, 2


def entries(data, wanted):
    """Every entry of one kind: each fat binary is a header and entries of kind, header bytes and size."""
    at = data.find(MAGIC)
    while at >= 0:
        head, body = struct.unpack_from("<H", data, at + 6)[0], struct.unpack_from("<Q", data, at + 8)[0]
        entry, end = at + head, at + head + body
        while entry < end:
            kind, = struct.unpack_from("<H", data, entry)
            header, size = struct.unpack_from("<IQ", data, entry + 4)
            if kind == wanted:
                yield data[entry + header:entry + header + size]
            entry += header + size
        at = data.find(MAGIC, end)


def ptx_texts(file):
    for entry in entries(pathlib.Path(file).read_bytes(), PTX):
        yield entry.split(b"\0")[0].decode()


def cubins(file):
    return entries(pathlib.Path(file).read_bytes(), CUBIN)


def demangle(names):
    """Demangled, and without "(anonymous namespace)::"."""
    out = subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True, check=True).stdout
    return [line.replace("(anonymous namespace)::", "") for line in out.splitlines()]
