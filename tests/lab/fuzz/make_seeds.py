#!/usr/bin/env python3
"""make_seeds.py [FOLDER]: writes the initial inputs of the fuzz targets, a folder for each, by default into corpus/ next to it.

Inputs that fuzzing found and that led to a repair are there too, named regression-*; the seeds made here are named seed-*. If
you change a format, run it again and look at the difference.
"""
import base64
import bz2
import gzip
import hashlib
import io
import json
import lzma
import pathlib
import struct
import sys
import tarfile
import zipfile
import zlib

# 8x8 pixels, from libjpeg-turbo, because Python's library has no encoder.
JPEGS = {
    "baseline": (
        "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDABsSFBcUERsXFhceHBsgKEIrKCUlKFE6PTBCYFVlZF9VXVtqeJmBanGQc1tdhbWGkJ6j"
        "q62rZ4C8ybqmx5moq6T/2wBDARweHigjKE4rK06kbl1upKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSk"
        "pKSkpKSkpKT/wAARCAAIAAgDASIAAhEBAxEB/8QAHwAAAQUBAQEBAQEAAAAAAAAAAAECAwQFBgcICQoL/8QAtRAAAgEDAwIEAwUF"
        "BAQAAAF9AQIDAAQRBRIhMUEGE1FhByJxFDKBkaEII0KxwRVS0fAkM2JyggkKFhcYGRolJicoKSo0NTY3ODk6Q0RFRkdISUpTVFVW"
        "V1hZWmNkZWZnaGlqc3R1dnd4eXqDhIWGh4iJipKTlJWWl5iZmqKjpKWmp6ipqrKztLW2t7i5usLDxMXGx8jJytLT1NXW19jZ2uHi"
        "4+Tl5ufo6erx8vP09fb3+Pn6/8QAHwEAAwEBAQEBAQEBAQAAAAAAAAECAwQFBgcICQoL/8QAtREAAgECBAQDBAcFBAQAAQJ3AAEC"
        "AxEEBSExBhJBUQdhcRMiMoEIFEKRobHBCSMzUvAVYnLRChYkNOEl8RcYGRomJygpKjU2Nzg5OkNERUZHSElKU1RVVldYWVpjZGVm"
        "Z2hpanN0dXZ3eHl6goOEhYaHiImKkpOUlZaXmJmaoqOkpaanqKmqsrO0tba3uLm6wsPExcbHyMnK0tPU1dbX2Nna4uPk5ebn6Onq"
        "8vP09fb3+Pn6/9oADAMBAAIRAxEAPwBGACrGoUZ65Ix/n+nt94ooqXNxSsClZXsf/9k="
    ),
    "progressive": (
        "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDABsSFBcUERsXFhceHBsgKEIrKCUlKFE6PTBCYFVlZF9VXVtqeJmBanGQc1tdhbWGkJ6j"
        "q62rZ4C8ybqmx5moq6T/2wBDARweHigjKE4rK06kbl1upKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSk"
        "pKSkpKSkpKT/wgARCAAIAAgDAREAAhEBAxEB/8QAFAABAAAAAAAAAAAAAAAAAAAAAf/EABQBAQAAAAAAAAAAAAAAAAAAAAD/2gAM"
        "AwEAAhADEAAAAQ//xAAUEAEAAAAAAAAAAAAAAAAAAAAA/9oACAEBAAEFAn//xAAWEQADAAAAAAAAAAAAAAAAAAAAATH/2gAIAQMB"
        "AT8BrP/EABYRAAMAAAAAAAAAAAAAAAAAAAABUf/aAAgBAgEBPwFU/8QAFRABAQAAAAAAAAAAAAAAAAAAABH/2gAIAQEABj8Cj//E"
        "ABgQAAIDAAAAAAAAAAAAAAAAAAHwETFB/9oACAEBAAE/ITQCFd//2gAMAwEAAgADAAAAEJ//xAAbEQABBAMAAAAAAAAAAAAAAABh"
        "AAERQZGx8P/aAAgBAwEBPxDG2uJm1//EABcRAQEBAQAAAAAAAAAAAAAAAAHwIVH/2gAIAQIBAT8QWLq4f//EABoQAQABBQAAAAAA"
        "AAAAAAAAAAERADFhwfD/2gAIAQEAAT8QAACbykdrFP/Z"
    ),
    "grey": (
        "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDABsSFBcUERsXFhceHBsgKEIrKCUlKFE6PTBCYFVlZF9VXVtqeJmBanGQc1tdhbWGkJ6j"
        "q62rZ4C8ybqmx5moq6T/wAALCAAIAAgBAREA/8QAHwAAAQUBAQEBAQEAAAAAAAAAAAECAwQFBgcICQoL/8QAtRAAAgEDAwIEAwUF"
        "BAQAAAF9AQIDAAQRBRIhMUEGE1FhByJxFDKBkaEII0KxwRVS0fAkM2JyggkKFhcYGRolJicoKSo0NTY3ODk6Q0RFRkdISUpTVFVW"
        "V1hZWmNkZWZnaGlqc3R1dnd4eXqDhIWGh4iJipKTlJWWl5iZmqKjpKWmp6ipqrKztLW2t7i5usLDxMXGx8jJytLT1NXW19jZ2uHi"
        "4+Tl5ufo6erx8vP09fb3+Pn6/9oACAEBAAA/AGrErqba1IWBR+9lzgMO4B9PU9/p1//Z"
    ),
    "cmyk": (
        "/9j/7gAOQWRvYmUAZAAAAAAC/9sAQwAbEhQXFBEbFxYXHhwbIChCKyglJShROj0wQmBVZWRfVV1baniZgWpxkHNbXYW1hpCeo6ut"
        "q2eAvMm6pseZqKuk/9sAQwEcHh4oIyhOKytOpG5dbqSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSk"
        "pKSkpKSk/8AAFAgACAAIBAERAAIRAQMRAQQRAP/EAB8AAAEFAQEBAQEBAAAAAAAAAAABAgMEBQYHCAkKC//EALUQAAIBAwMCBAMF"
        "BQQEAAABfQECAwAEEQUSITFBBhNRYQcicRQygZGhCCNCscEVUtHwJDNicoIJChYXGBkaJSYnKCkqNDU2Nzg5OkNERUZHSElKU1RV"
        "VldYWVpjZGVmZ2hpanN0dXZ3eHl6g4SFhoeIiYqSk5SVlpeYmZqio6Slpqeoqaqys7S1tre4ubrCw8TFxsfIycrS09TV1tfY2drh"
        "4uPk5ebn6Onq8fLz9PX29/j5+v/EAB8BAAMBAQEBAQEBAQEAAAAAAAABAgMEBQYHCAkKC//EALURAAIBAgQEAwQHBQQEAAECdwAB"
        "AgMRBAUhMQYSQVEHYXETIjKBCBRCkaGxwQkjM1LwFWJy0QoWJDThJfEXGBkaJicoKSo1Njc4OTpDREVGR0hJSlNUVVZXWFlaY2Rl"
        "ZmdoaWpzdHV2d3h5eoKDhIWGh4iJipKTlJWWl5iZmqKjpKWmp6ipqrKztLW2t7i5usLDxMXGx8jJytLT1NXW19jZ2uLj5OXm5+jp"
        "6vLz9PX29/j5+v/aAA4EAQACEQMRBAAAPwAzj5txAPck5Pf+v179SKP7tv67/wBfkrBvqt1939f8NfcMCH5ApVX4GAd5Hc9eOv17"
        "ZyTX/9k="
    ),
}
# 8x8 pixels, interlaced, from Pillow.
GIF = (
    "R0lGODdhCAAIAIMAAAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4fICEiIyQlJicoKSorLC0uLywAAAAACAAIAAAILQABHHBQ"
    "gMEABQEQPDDQgMACAQkEEjSIUCFDhxAlFjyYcGHDhxEHbqzoEWOCgAA7"
)
# 8x8 pixels, from libwebp.
WEBPS = {
    "lossy": (
        "UklGRkIAAABXRUJQVlA4IDYAAADQAQCdASoIAAgAAsBMJbACdAD0MZJEgAD+81QjP5hwK0HHWCSzNgK1g45P9qV34h99P1jqwAA="
    ),
    "lossless": (
        "UklGRi4AAABXRUJQVlA4TCIAAAAvB8ABALkyRPQ/dhHR/wBhtlFJzh90ryMYjwGMCaB6oP8A"
    ),
    "exif": (
        "UklGRnYAAABXRUJQVlA4WAoAAAAIAAAABwAABwAAVlA4IDYAAADQAQCdASoIAAgAAsBMJbACdAD0MZJEgAD+81QjP5hwK0HHWCSz"
        "NgK1g45P9qV34h99P1jqwABFWElGGgAAAE1NACoAAAAIAAEBEgADAAAAAQAGAAAAAAAA"
    ),
    "animated": (
        "UklGRrQAAABXRUJQVlA4WAoAAAACAAAABwAABwAAQU5JTQYAAAAAAAAAAABBTk1GUAAAAAAAAAAAAAcAAAcAAAoAAAJWUDggOAAA"
        "AFABAJ0BKggACAAHQJYlsAAFjAAA/sr1H+B/17adP/Vf6geqT+da0rtneu3XhgkE+Xmvd/nY0AAAQU5NRjAAAAAAAAAAAAAHAAAH"
        "AAAKAAAAVlA4IBgAAAA0AQCdASoIAAgAAACWJaQAA3AA/u+5AAA="
    ),
}


def png(color, depth, channels, palette=b"", interlaced=0):
    """4x4 pixels of that kind."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    row = (4 * depth * channels + 7) // 8
    # An interlaced image has its pixels in seven passes, each row with its filter; for 4x4 these are five rows.
    widths = [1, 1, 2, 2, 4, 4] if interlaced else [4] * 4
    pixels = b"".join(bytes([i % 5]) + bytes(range(1, 1 + row * width // 4 + (row * width % 4 > 0)))
                      for i, width in enumerate(widths))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 4, 4, depth, color, 0, 0, interlaced)) + palette
            + chunk(b"IDAT", zlib.compress(pixels)) + chunk(b"IEND", b""))


def tiff(photometric, bits, samples, order="<", compression=1, more=()):
    """4x4 pixels of that kind in one strip, PackBits if compression is 32773."""
    row = (4 * bits * samples + 7) // 8
    pixels = bytes(i % 251 for i in range(4 * row))
    if compression == 32773:
        pixels = b"".join(bytes([row - 1]) + pixels[row * y:row * (y + 1)] for y in range(4))
    tags = sorted([(256, 3, 1, 4), (257, 3, 1, 4), (258, 3, 1, bits), (259, 3, 1, compression), (262, 3, 1, photometric),
                   (273, 4, 1, 8), (277, 3, 1, samples), (278, 3, 1, 4), (279, 4, 1, len(pixels)), *more])
    entries = b"".join(struct.pack(order + "HHI", tag, kind, count)
                       + struct.pack(order + ("HH" if kind == 3 else "I"), *((value, 0) if kind == 3 else (value,)))
                       for tag, kind, count, value in tags)
    start = 8 + len(pixels)
    return ({"<": b"II", ">": b"MM"}[order] + struct.pack(order + "HI", 42, start) + pixels
            + struct.pack(order + "H", len(tags)) + entries + struct.pack(order + "I", 0))


def exif(orientation, kind):
    """A TIFF block with that tag alone, as SHORT (3) or LONG (4)."""
    return struct.pack("<2sHIHHHI", b"II", 42, 8, 1, 274, kind, 1) + struct.pack("<HHI", orientation, 0, 0)


def bmp(bits, compression=0, height=4):
    """4x4 pixels of that many bits."""
    palette = bytes(range(4)) * 2 ** bits if bits <= 8 else struct.pack("<3I", 0xF800, 0x7E0, 0x1F) if compression == 3 else b""
    pixels = bytes(i % 251 for i in range(16 * (bits + 31) // 8))[:4 * ((4 * bits + 31) // 32 * 4)]
    start = 54 + len(palette)
    return (b"BM" + struct.pack("<III", start + len(pixels), 0, start)
            + struct.pack("<IiiHHIIiiII", 40, 4, height, 1, bits, compression, len(pixels), 0, 0, 0, 0) + palette + pixels)


def safetensors(tensors, metadata=None, seal=None):
    """seal: None, or the format whose hash is added."""
    header, data = {}, b""
    metadata = dict(metadata or {})
    if seal == 2:
        metadata |= {"learn.format": "2", "learn.sha256": "0" * 64}
    for name, (dtype, shape, content) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    if seal == 1:
        metadata["learn.payload_sha256"] = hashlib.sha256(data).hexdigest()
    if metadata:
        header = {"__metadata__": metadata} | header
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    file = struct.pack("<Q", len(text)) + text + data
    if seal == 2:
        file = file.replace(b"0" * 64, hashlib.sha256(file).hexdigest().encode(), 1)
    return file


def safetensors_seeds():
    floats = struct.pack("<4f", 0, 1, -1, float("nan"))
    every = {"f32": ("F32", [2, 2], floats), "f16": ("F16", [3], b"\0" * 6), "bf16": ("BF16", [1, 1, 1], b"\0" * 2),
             "f64": ("F64", [], b"\0" * 8), "i64": ("I64", [1], b"\1" * 8), "i32": ("I32", [0], b""),
             "u8": ("U8", [5, 1], b"hello")}
    yield "every-dtype", safetensors(every)
    yield "sealed", safetensors(every, {"learn.kind": "weights", "text": "\n\"\\é"}, seal=2)
    yield "sealed-before", safetensors({"w": every["f32"]}, {"learn.kind": "weights"}, seal=1)
    yield "empty", safetensors({})
    # Known attacks on this format: products that overflow, overlapping tensors, a hole, a duplicate key.
    yield "wraps-to-nothing", safetensors({"w": ("F32", [2**32, 2**32], b"")})
    yield "wraps", safetensors({"w": ("F64", [3, 2**61 + 1], b"\0" * 24)})
    yield "overlap", safetensors(every).replace(b"[16,22]", b"[14,20]")
    yield "twice", safetensors({"a": every["i32"], "b": every["i32"]}).replace(b'"b"', b'"a"')
    yield "pickle", b"\x80\x02}q\x01(X\x02" + b"\0" * 8
    yield "zip", b"PK\3\4" + b"\0" * 8


def state_seeds():
    tensors = {"model.weight": ("F32", [2, 3], struct.pack("<6f", *range(6))), "model.half": ("F16", [4], b"\0\x3c" * 4),
               "losses": ("F64", [2], struct.pack("<2d", 0.5, float("inf"))), "steps": ("I64", [], struct.pack("<q", 7))}
    texts = {"learn.kind": "train", "state.epoch": "-3", "state.scale": "1e-300", "state.warm": "1", "state.name": "a\nb"}
    yield "sealed", safetensors(tensors, texts, seal=2)
    yield "plain", safetensors(tensors, texts)
    yield "other-dtype", safetensors(tensors | {"losses": ("I64", [2], b"\0" * 16)}, texts)
    yield "other-shape", safetensors(tensors | {"model.weight": ("F32", [3, 2], b"\0" * 24)}, texts)
    yield "no-number", safetensors(tensors, texts | {"state.epoch": "12x"})
    yield "too-large", safetensors(tensors, texts | {"state.epoch": "9223372036854775808", "state.scale": "nan"})
    yield "other", safetensors({"model.weight": ("F16", [3, 2], b"\0" * 12)}, {"state.more": ""})


def config_seeds():
    yield "usual", b"# mine\n[train]\nepochs = 5\nlr = 1e-3\nplots = false\nname = \"a \\\"b\\\" \\u00e9\"\nclasses = ['x', \"y\"]\n"
    yield "blocks", b"[train]\nname = \"\"\"a\nb\\\n  c\"\"\"\"\"\nclasses = '''\nx''', # end\n"
    yield "types", b"[train]\nlr = 0x1F\nepochs = 1_000\nplots = 1979-05-27T07:32:00Z\nname = inf\n"
    yield "nested", b"[train]\nclasses = [[1, {a.b = 2}], []]\n[[train.more]]\n\"x\".'y' . z = 1\n"
    yield "typo", b"[trian]\nepohcs = 5\n"


def options_seeds():
    yield "usual", (b"[train]\ndata = \"synthetic10\"\nmodel = \"resnet9:width=8\"\nepochs = 3\nbatch-size = 32\nlr = \"1e-3:1e-2\"\n"
                    b"optimizer = \"adam:beta2=0.99,eps=1e-6\"\nschedule = \"one-cycle\"\ncallbacks = [\"ema\", \"early_stopping:patience=2\"]\n"
                    b"precision = \"bf16\"\nval-split = 0.1\ntrain-limit = \"0.5\"\nseed = 7\n")
    yield "specs", b"[train]\nmodel = \"mlp:sizes=3,=,:x\"\noptimizer = \"sgd:nesterov=true,momentum=0x1p-1\"\n"
    yield "ranges", b"[train]\nepochs = -1\nbatch-size = 9223372036854775807\nlr = 1e400\n"


def image_seeds():
    for name, text in JPEGS.items():
        yield f"jpeg-{name}", base64.b64decode(text)
    for name, text in WEBPS.items():
        yield f"webp-{name}", base64.b64decode(text)
    yield "tiff-rgb", tiff(2, 8, 3, compression=32773)
    yield "tiff-turned", tiff(2, 8, 3, more=[(274, 3, 1, 6)])
    yield "tiff-rgba16", tiff(2, 16, 4, ">", more=[(338, 3, 1, 2)])
    yield "tiff-grey1", tiff(0, 1, 1)
    yield "tiff-cmyk", tiff(5, 8, 4)
    for bits in (1, 4, 8, 16, 24, 32):
        yield f"bmp-{bits}", bmp(bits)
    yield "bmp-masks", bmp(16, 3, -4)
    yield "bmp-old", b"BM" + struct.pack("<III", 26 + 8, 0, 26) + struct.pack("<IHHHH", 12, 2, 1, 1, 24) + bytes(8)
    yield "bmp-packed", bmp(8, 1)
    yield "png-rgb", png(2, 8, 3)
    yield "png-rgba16", png(6, 16, 4)
    yield "png-grey1", png(0, 1, 1)
    yield "png-interlaced", png(0, 8, 1, interlaced=1)
    entries = bytes(range(12))
    palette = struct.pack(">I", 12) + b"PLTE" + entries + struct.pack(">I", zlib.crc32(b"PLTE" + entries))
    yield "png-palette2", png(3, 2, 1, palette)

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    profile = b"\nexif\n      26\n" + exif(6, 4).hex().encode() + b"\n"
    plain = png(2, 8, 3)
    for name, text in (("eXIf", chunk(b"eXIf", exif(6, 3))), ("text", chunk(b"tEXt", b"Raw profile type exif\0" + profile)),
                       ("packed-text", chunk(b"zTXt", b"Raw profile type APP1\0\0" + zlib.compress(profile))),
                       ("utf8-text", chunk(b"iTXt", b"Raw profile type exif\0\1\0en\0k\0" + zlib.compress(profile))),
                       ("gamma", chunk(b"gAMA", struct.pack(">I", 55555)))):
        yield f"png-{name}", plain[:33] + text + plain[33:]
    jpeg = base64.b64decode(JPEGS["baseline"])
    yield "jpeg-exif", jpeg[:2] + b"\xff\xe1" + struct.pack(">H", 34) + b"Exif\0\0" + exif(6, 4) + jpeg[2:]
    yield "jpeg-no-end", jpeg[:-2]
    yield "jpeg-padding", jpeg[:20] + b"abc" + jpeg[20:]
    yield "tiff-bands", tiff(2, 8, 6, more=[(338, 1, 3, 2)])
    gif = base64.b64decode(GIF)
    yield "gif", gif
    yield "gif-transparent", gif[:gif.index(b",")] + b"!\xf9\4\1\0\0\1\0" + gif[gif.index(b","):]
    yield "gif-part", gif[:6] + struct.pack("<HH", 9, 7) + gif[10:]
    yield "pbm-text", b"P1 #x\n3 2\n101\n0 1 0"
    yield "pgm", b"P5 3 2 7 \0\1\2\3\4\5"
    yield "ppm-16", b"P6 1 1 65535\n\1\2\3\4\5\6"
    yield "heic", b"\0\0\0\x18ftypheic\0\0\0\0mif1heic"


def tar(members):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, content in members.items():
            entry = tarfile.TarInfo(name)
            if content is None:
                entry.type, entry.linkname = tarfile.SYMTYPE, "elsewhere"
            entry.size = len(content or b"")
            archive.addfile(entry, io.BytesIO(content or b""))
    # The archive is as short as tar allows: the end mark, without padding blocks.
    return out.getvalue().rstrip(b"\0").ljust(512 * (len(out.getvalue().rstrip(b"\0")) // 512 + 3), b"\0")


def zipped(members, method):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name), content, method)
    return out.getvalue()


def archive_seeds():
    members = {"set/train/cat/1.png": b"image", "set/train/dog/2.jpg": b"other" * 20, "set/.hidden/x": b"x"}
    plain = tar(members)
    yield "tar", plain
    yield "tar-empty", tar({})
    yield "zip-empty", zipped({}, zipfile.ZIP_STORED)
    yield "tar-gz", gzip.compress(plain, mtime=0)
    yield "tar-bz2", bz2.compress(plain)
    yield "tar-xz", lzma.compress(plain)
    yield "tar-link", tar({"a/b": b"x", "a/c": None})
    yield "tar-long-name", tar({"é" * 120 + "/x": b"x"})
    yield "tar-outside", tar({"a/b": b"x", "../evil": b"x"})
    yield "two-tars-gz", gzip.compress(plain + plain, mtime=0)
    yield "zip", zipped(members, zipfile.ZIP_STORED)
    yield "zip-deflated", zipped(members, zipfile.ZIP_DEFLATED)


def npy(kind, shape, content, version=1, order=False):
    text = f"{{'descr': '{kind}', 'fortran_order': {order}, 'shape': {shape}, }}"
    text += " " * (-(len(text) + 11) % 64) + "\n"
    return b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H" if version == 1 else "<I", len(text)) + text.encode() + content


def array_seeds():
    images = struct.pack(">4B3I", 0, 0, 8, 3, 2, 2, 3) + bytes(range(12))
    yield "idx", images
    yield "idx-labels", struct.pack(">4BI", 0, 0, 8, 1, 3) + b"\0\1\2"
    yield "idx-packed", gzip.compress(images, mtime=0)
    yield "npy", npy("|u1", (2, 2, 3), bytes(range(12)))
    yield "npy-2", npy("<i8", (2,), struct.pack("<2q", -1, 5), version=2)
    yield "npy-big", npy(">i2", (2, 1), struct.pack(">2h", -1, 5))
    yield "npy-fortran", npy("|u1", (2, 2), bytes(4), order=True)
    yield "npy-objects", npy("|O", (2,), b"\x80\4.")
    yield "npy-large", npy("<u8", (2**62, 4), b"")


def cifar_seeds():
    yield "record", bytes([2]) + bytes([9]) + bytes(i % 251 for i in range(3072)) + b"cat\ndog\r\n"
    yield "record-100", bytes([3]) + bytes([19, 99]) + bytes(3072) + "é\n".encode()
    yield "label", bytes([2]) + bytes([10]) + bytes(3072)
    yield "no-record", bytes([0]) + b"a\na\n"
    yield "too-short", bytes([130]) + bytes(3072)


def csv_seeds():
    yield "usual", b"epoch,train_loss,\"a \"\"b\"\", c\"\n1,0.5,\"x\ny\"\n2,,\n"
    yield "endings", b"a,b\r\n1,2\r\n3,4"
    yield "ragged", b"a,b\n1\n"
    yield "open", b"a,\"b\n1,2\n"


def plan_cache_seeds():
    yield "match", b"key\n{\"plan\":1}\n"
    yield "other", b"key2\nx"
    yield "cut", b"ke\ny"


def run_record_seeds():
    least = b'"status": "finished", "argv": ["train", "-e", "3"], "started": "2026-11-20T12:05:17Z"'
    yield "least", b"{" + least + b"}"
    yield "usual", (b"{" + least + b', "exit_code": 0, "error": "", "versions": {"learn": "1"}, "seed": 42, "device": "cpu", "threads": 2, '
                    b'"precision": "fp32", "model": {"name": "small", "parameters": 7}, "dataset": {"name": "d", "synthetic": true, '
                    b'"fingerprint": "f", "train_samples": 5, "valid_samples": 1}, "resumes": [{"at": "", "argv": ["x"], "precision": "bf16"}], '
                    b'"ended": "", "epochs": 3, "epochs_done": 1, "best": {"metric": "accuracy", "value": 0.5, "epoch": 1}, '
                    b'"results": {"valid_loss": null, "loss": -1}, "steps": {"applied": 1, "skipped": 0, "loss_scale": 1024.0, '
                    b'"records": [{"batch": 3, "event": "skip", "loss_scale_before": 2, "loss_scale_after": null}]}}')
    yield "null", b"{" + least + b', "best": null, "resumes": []}'
    yield "twice", b"{" + least + b', "seed": 1, "seed": 2}'
    yield "newer", b"{" + least + b', "more": [[{"a": [1.5, -2]}], "b"], "model.name": false}'


def main():
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent / "corpus"
    for name, make in sorted(globals().items()):
        if name.endswith("_seeds"):
            target = folder / name.removesuffix("_seeds")
            target.mkdir(parents=True, exist_ok=True)
            for seed, content in make():
                (target / f"seed-{seed}").write_bytes(content)


if __name__ == "__main__":
    main()
