#!/usr/bin/env python3
"""Writes image_values.h: small GIF and PNM files, and the pixels that Pillow reads from them.

    python3 tests/golden/make_images.py > tests/golden/image_values.h
"""
import io
import struct

import numpy as np
import PIL
from PIL import Image

rng = np.random.default_rng(5)


def gif(colours, height, width, **options):
    image = Image.fromarray(rng.integers(0, colours, (height, width)).astype("u1"), "P")
    image.putpalette(rng.integers(0, 256, 3 * colours).astype("u1").tobytes())
    file = io.BytesIO()
    image.save(file, "GIF", **options)
    return file.getvalue()


def placed(file, width, height, left, top, transparent):
    """The same with its image there on a screen of that size, and with a transparent colour."""
    at = file.index(b",")
    control = b"!\xf9\4\1\0\0" + bytes([transparent]) + b"\0" if transparent is not None else b""
    return (file[:6] + struct.pack("<HH", width, height) + file[10:at] + control + b"," + struct.pack("<HH", left, top)
            + file[at + 5:])


def animated():
    images = [Image.fromarray(rng.integers(0, 256, (3, 4, 3)).astype("u1")) for _ in range(2)]
    file = io.BytesIO()
    images[0].save(file, "GIF", save_all=True, append_images=images[1:])
    return file.getvalue()


def pnm(magic, largest, height, width):
    channels = 3 if magic in (3, 6) else 1
    values = rng.integers(0, largest + 1, height * width * channels)
    header = b"P%d # a comment\n%d\t%d\n" % (magic, width, height) + (b"%d\n" % largest if magic not in (1, 4) else b"")
    if magic < 4:
        return header + b"\n".join(b"%d" % value for value in values)
    if magic == 4:
        return header + np.packbits(values.reshape(height, width).astype(bool), axis=1).tobytes()
    return header + values.astype(">u2" if largest > 255 else "u1").tobytes()


plain = gif(4, 4, 5)
files = {
    "GIF of two colours": gif(2, 5, 7),
    "GIF of 256 colours": gif(256, 9, 11),
    "interlaced GIF": gif(8, 13, 5, interlace=1),
    "GIF with a transparent colour": gif(8, 4, 5, transparency=3),
    "GIF whose image is a part of the screen": placed(plain, 7, 6, 1, 2, None),
    "GIF whose image is a part of the screen, transparent elsewhere": placed(plain, 7, 6, 1, 2, 2),
    "GIF whose image is larger than the screen": placed(plain, 2, 2, 1, 1, None),
    "animated GIF": animated(),
    "PBM of text": pnm(1, 1, 3, 11),
    "PGM of text": pnm(2, 100, 3, 4),
    "PPM of text": pnm(3, 1000, 3, 4),
    "PBM": pnm(4, 1, 3, 11),
    "PGM": pnm(5, 255, 3, 4),
    "PGM of 7": pnm(5, 7, 3, 4),
    "PPM": pnm(6, 255, 3, 4),
    "PPM of 16 bits": pnm(6, 65535, 3, 4),
    "PPM of 12 bits": pnm(6, 4095, 3, 4),
}


def hex_text(content):
    digits = content.hex()
    lines = [digits[i:i + 96] for i in range(0, len(digits), 96)]
    return "\n     ".join(f'"{line}"' for line in lines)


print(f"// Written by make_images.py: Pillow {PIL.__version__}, numpy {np.__version__}.")
print("""#pragma once
#include <cstdint>

namespace golden {

/// A file, and the RGB pixels that it has, in hexadecimal digits.
struct ImageFile {
  const char* name;
  std::int64_t height, width;
  const char* file;
  const char* pixels;
};

inline constexpr ImageFile kImageFiles[] = {""")
for name, file in files.items():
    image = Image.open(io.BytesIO(file)).convert("RGB")
    print(f'    {{"{name}",\n     {image.height},\n     {image.width},\n     {hex_text(file)},\n     {hex_text(image.tobytes())}}},')
print("};\n\n}  // namespace golden")
