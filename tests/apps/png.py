"""Images for the end-to-end tests, which need nothing but Python's own library."""
import struct
import zlib


def write_png(path, width, height, colour):
    """An image of one colour, darker towards the bottom. Makes the folder."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + bytes(int(c * (1 - y / (2 * height))) for c in colour) * width for y in range(height))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) +
                     chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))
