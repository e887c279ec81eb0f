#!/usr/bin/env python3
"""Compares exported models with other runtimes: compare.py FOLDER/OF/PROGRAMS [FOLDER].

Not a default test, because it needs numpy, onnx, onnxruntime, torch, torchvision and safetensors from PyPI. Every model of the
zoo, with trained values, is checked by onnx.checker (with full shape inference), run by onnxruntime with batches of 1, 3 and 64,
with BatchNorm and with it folded, and loaded strictly into its generated PyTorch module. Prints the largest differences from
our logits relative to the largest logit; exit status 1 above TOLERANCE. Then torchvision's ResNets, with a stem for small
images, are imported by `learn import`, exported, and compared with the originals.
"""
import importlib.util
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch
import torchvision
from safetensors.numpy import load_file
from safetensors.torch import save_file

# f32 has a relative rounding of 6e-8; sums of thousands of products in another order, through 50 layers, and by
# Winograd's algorithm here (4 to 13 times the errors of a plain sum, ADR 0005) reached 4e-6.
TOLERANCE = 1e-5


def onnx_difference(path, tensors):
    onnx.checker.check_model(onnx.load(path), full_check=True)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    worst = 0.0
    for batch in (1, 3, 64):
        (logits,) = session.run(["logits"], {"image": tensors[f"images_{batch}"]})
        worst = max(worst, difference(logits, tensors[f"logits_{batch}"]))
    return worst


def torch_difference(path, tensors):
    spec = importlib.util.spec_from_file_location(path.stem.replace("-", "_"), path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    model = module.load()
    worst = 0.0
    with torch.inference_mode():
        for batch in (1, 3, 64):
            logits = model(torch.from_numpy(tensors[f"images_{batch}"])).numpy()
            worst = max(worst, difference(logits, tensors[f"logits_{batch}"]))
    return worst


def there_and_back(program, folder, name):
    """A model of torchvision, through `learn import` and `learn export`, in onnxruntime and as generated module."""
    torch.manual_seed(1)
    model = getattr(torchvision.models, name)(num_classes=10)
    model.conv1 = torch.nn.Conv2d(3, 64, 3, padding=1, bias=False)
    model.maxpool = torch.nn.Identity()
    for layer in model.modules():
        if isinstance(layer, torch.nn.BatchNorm2d):
            for values in (layer.weight.data, layer.bias.data, layer.running_mean, layer.running_var):
                values.uniform_(0.5, 1.5)
    save_file({f"module.{key}": value for key, value in model.state_dict().items()}, folder / "theirs.safetensors")

    def learn(*words):
        subprocess.run([program, "-q", *words], cwd=folder, check=True, stdout=subprocess.DEVNULL)

    learn("import", "theirs.safetensors", "--model", name, "--classes", "a,b,c,d,e,f,g,h,i,j", "--image-size", "32",
          "--normalize", "imagenet", "--map", "module.* = *", "--out", "ours.safetensors")
    learn("export", "ours.safetensors", "ours.onnx", "--fold")
    learn("export", "ours.safetensors", "again.safetensors")
    tensors = {}
    with torch.inference_mode():
        for batch in (1, 3, 64):
            images = torch.randn(batch, 3, 32, 32)
            tensors |= {f"images_{batch}": images.numpy(), f"logits_{batch}": model.eval()(images).numpy()}
    return onnx_difference(folder / "ours.onnx", tensors), torch_difference(folder / "again.py", tensors)


def difference(theirs, ours):
    assert theirs.shape == ours.shape, (theirs.shape, ours.shape)
    assert np.isfinite(ours).all()
    return float(np.abs(theirs - ours).max() / np.abs(ours).max())


def main():
    folder = Path(sys.argv[2] if len(sys.argv) > 2 else tempfile.mkdtemp())
    programs = Path(sys.argv[1]).resolve()
    subprocess.run([programs / "write_zoo", folder], check=True)
    print(f"onnx {onnx.__version__}, onnxruntime {onnxruntime.__version__}, torch {torch.__version__}")
    print(f"{'model':22}{'onnxruntime':>13}{'folded':>13}{'PyTorch':>13}{'folded':>13}")
    bad = 0
    for images in sorted(folder.glob("*.images.safetensors")):
        name = images.name.removesuffix(".images.safetensors")
        tensors = load_file(images)
        row = [onnx_difference(folder / f"{name}{kind}.onnx", tensors) for kind in ("", "-folded")]
        row += [torch_difference(folder / f"{name}_{kind}.py", tensors) for kind in ("torch", "folded")]
        bad += sum(not value <= TOLERANCE for value in row)
        print(f"{name:22}" + "".join(f"{value:13.1e}" for value in row))
    for name in ("resnet18", "resnet50"):
        row = there_and_back(programs / "learn", folder, name)
        bad += sum(not value <= TOLERANCE for value in row)
        print(f"torchvision's {name}, imported, exported folded: onnxruntime {row[0]:.1e}; exported: PyTorch {row[1]:.1e}")
    print(f"largest difference of a logit over the largest logit; {bad} above {TOLERANCE}")
    sys.exit(1 if bad else 0)


main()
