"""Images for the end-to-end tests, which need only Python's standard library."""
import struct
import zlib


def write_pixels(path, rows):
    """An image of rows of (red, green, blue). Makes the folder."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    lines = b"".join(b"\0" + bytes(value for pixel in row for value in pixel) for row in rows)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", len(rows[0]), len(rows), 8, 2, 0, 0, 0)) +
                     chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b""))


def write_png(path, width, height, colour):
    """An image of one colour, darker towards the bottom. Makes the folder."""
    write_pixels(path, [[tuple(int(c * (1 - y / (2 * height))) for c in colour)] * width for y in range(height)])
