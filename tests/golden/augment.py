#!/usr/bin/env python3
"""Writes augment.h: what torchvision's transforms v2 make of small images of bytes, in hexadecimal.

    python3 tests/golden/augment.py > tests/golden/augment.h

The C++ test takes the arguments of each case in this order. Operations of policies are computed by the policies' own code.
"""
import torch
import torchvision
from torchvision.transforms import v2
from torchvision.transforms.v2 import functional as F

torch.manual_seed(40)


def smooth(channels, height, width):
    y, x = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
    planes = [(x * (7 + 9 * c) + y * (23 - 5 * c) + 40 * c) % 256 for c in range(channels)]
    noise = torch.randint(0, 40, (channels, height, width))
    return ((torch.stack(planes) + noise) % 256).to(torch.uint8)


IMAGES = [smooth(3, 7, 9), smooth(1, 6, 5), torch.tensor([200, 30, 90], dtype=torch.uint8).reshape(3, 1, 1).expand(3, 4, 5).contiguous(),
          smooth(3, 2, 2), smooth(3, 1, 1), smooth(3, 20, 24)]



def bytes_of(image):
    return bytes(image.permute(1, 2, 0).contiguous().reshape(-1).tolist()).hex()


CASES = []


def case(op, images, result, *args):
    for i in images:
        CASES.append((op, i, args, result(IMAGES[i])))


ALL = range(5)
for f in (0.0, 0.4, 1.0, 1.7):
    case("brightness", ALL, lambda x, f=f: F.adjust_brightness(x, f), f)
    case("contrast", ALL, lambda x, f=f: F.adjust_contrast(x, f), f)
    case("saturation", ALL, lambda x, f=f: F.adjust_saturation(x, f), f)
    case("sharpness", ALL, lambda x, f=f: F.adjust_sharpness(x, f), f)
for h in (-0.5, -0.3, 0.0, 0.1, 0.4):
    case("hue", (0, 2, 3, 4), lambda x, h=h: F.adjust_hue(x, h), h)
case("gray", (0, 2, 4), lambda x: F.rgb_to_grayscale(x, 3))
case("invert", (0, 1), F.invert)
for bits in (0, 1, 3, 8):
    case("posterize", (0, 1), lambda x, bits=bits: F.posterize(x, bits), bits)
for threshold in (0, 100, 256):
    case("solarize", (0, 1), lambda x, t=threshold: F.solarize(x, t) if t < 256 else x, threshold)
# More than half of the pixels have the largest value.
IMAGES.append(torch.where(torch.arange(576).reshape(1, 24, 24) % 9 < 5, 250, smooth(1, 24, 24).clamp(max=249)).to(torch.uint8))
case("equalize", range(7), F.equalize)
case("autocontrast", (0, 1, 2, 3, 4, 5), F.autocontrast)
for size, sigma in ((3, 0.5), (5, 1.3), (11, 2.0)):
    case("blur", (0, 1) if size < 11 else (0, 5), lambda x, k=size, s=sigma: F.gaussian_blur(x, [k, k], [s, s]), size, sigma)
for degrees, x, y, scale, shear in ((0, 2, -1, 1, 0), (37, 0, 0, 1, 0), (-120, 1, 0, 0.8, 10), (0, 0, 0, 1.7, -25)):
    for name, mode in (("nearest", v2.InterpolationMode.NEAREST), ("bilinear", v2.InterpolationMode.BILINEAR)):
        case(name, (0, 1), lambda image, mode=mode, a=degrees, t=(x, y), s=scale, h=shear:
             F.affine(image, a, list(t), s, [h, 0.0], interpolation=mode, fill=None), degrees, x, y, scale, shear)
for top, left, height, width, to_height, to_width in ((1, 2, 5, 6, 7, 9), (0, 0, 7, 9, 3, 4), (2, 3, 1, 1, 4, 4), (0, 0, 20, 24, 5, 30)):
    case("resize", (0,) if height < 20 else (5,),
         # Of floats, because bytes would be rounded after the rows and after the columns.
         lambda x, w=(top, left, height, width), s=(to_height, to_width): F.resized_crop(x.float(), *w, list(s), antialias=True)
         .add(0.5).floor().to(torch.uint8),
         top, left, height, width, to_height, to_width)
OPS = ["Identity", "ShearX", "ShearY", "TranslateX", "TranslateY", "Rotate", "Brightness", "Color", "Contrast", "Sharpness", "Posterize",
       "Solarize", "AutoContrast", "Equalize"]
for number, (policy, bins) in enumerate(((v2.RandAugment, 31), (v2.TrivialAugmentWide, 31), (v2.AugMix, 10))):
    made = policy()
    space = policy._AUGMENTATION_SPACE
    for op, name in enumerate(OPS):
        if name not in space:
            continue
        magnitudes, signed = space[name]
        for bin_number in (bins // 2, bins - 1):
            for sign in (1, -1) if signed else (1,):
                def result(x, name=name, bin_number=bin_number, sign=sign, magnitudes=magnitudes, made=made, bins=bins):
                    values = magnitudes(bins, x.shape[1], x.shape[2])
                    return made._apply_image_or_video_transform(
                        x, name, 0.0 if values is None else sign * float(values[bin_number]), made.interpolation, made._fill)
                case("policy", (0,), result, number, op, bin_number, int(sign < 0))

print("#pragma once")
print(f"// Made by augment.py with torchvision {torchvision.__version__.split('+')[0]}; do not edit.")
print("#include <string>\n#include <vector>\n")
print("namespace learn::test::golden {\n")
print("struct AugmentImage {\n  int height, width, channels;\n  std::string pixels;\n};")
print("inline const std::vector<AugmentImage> kAugmentImages{")
for image in IMAGES:
    print(f'    {{{image.shape[1]}, {image.shape[2]}, {image.shape[0]}, "{bytes_of(image)}"}},')
print("};\n")
print("struct AugmentCase {\n  std::string op;\n  int image;\n  std::vector<double> arguments;\n  std::string pixels;\n};")
print("inline const std::vector<AugmentCase> kAugmentCases{")
for op, i, args, image in CASES:
    print(f'    {{"{op}", {i}, {{{", ".join(repr(float(a)) if isinstance(a, float) else str(a) for a in args)}}}, "{bytes_of(image)}"}},')
print("};")
print("\n}  // namespace learn::test::golden")
