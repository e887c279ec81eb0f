"""Reads what nvcc put into an executable: PTX texts and cubins, uncompressed (--no-compress)."""
import ctypes
import pathlib
import struct

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
    """Demangled, and without "(anonymous namespace)::". By the C++ library, which is wherever our programs run."""
    library = ctypes.CDLL("libstdc++.so.6")
    library.__cxa_demangle.restype = ctypes.c_void_p
    libc = ctypes.CDLL(None)
    out = []
    for name in names:
        status = ctypes.c_int()
        text = library.__cxa_demangle(name.encode(), None, None, ctypes.byref(status))
        out.append(ctypes.string_at(text).decode().replace("(anonymous namespace)::", "") if text else name)
        libc.free(ctypes.c_void_p(text))
    return out
