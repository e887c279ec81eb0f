"""Where cuDNN and cuBLAS are on a machine: what CUDA programs load by name."""
import ctypes
import importlib.util
import os
import pathlib

TOOLKITS = ["/usr/local/cuda", "/usr/lib/cuda", "/opt/cuda"]


class Missing(Exception):
    """Libraries that are nowhere, by name, and where they were looked for."""


def of_python():
    """The folders of Python's own nvidia packages, which come with PyTorch."""
    spec = importlib.util.find_spec("nvidia")
    roots = [pathlib.Path(root) for root in spec.submodule_search_locations or []] if spec else []
    return [folder for root in roots for folder in sorted(root.glob("*/lib"))]


def of_toolkits():
    roots = [os.environ[name] for name in ("CUDA_HOME", "CUDA_PATH", "CUDNN_ROOT") if os.environ.get(name)] + TOOLKITS
    return [pathlib.Path(root) / name for root in roots for name in ("lib64", "lib")]


def is_loadable(name):
    try:
        ctypes.CDLL(name)
        return True
    except OSError:
        return False


def path_for(names, own=()):
    """The value of LD_LIBRARY_PATH with which the loader finds all of `names`: the folders `own`, then those where they
    lie of the toolkit's and of Python's packages, then what it was. Raises Missing."""
    folders, missing = [pathlib.Path(folder) for folder in own], []
    places = folders + of_toolkits() + of_python()
    for name in names:
        found = next((folder for folder in places if (folder / name).exists()), None)
        if found is None and not is_loadable(name):
            missing.append(name)
        elif found is not None and found not in folders:
            folders.append(found)
    if missing:
        looked = ", ".join(map(str, places)) or "no folder"
        raise Missing(f"{', '.join(missing)}: neither in {looked} nor where the loader looks")
    before = os.environ.get("LD_LIBRARY_PATH", "")
    return ":".join([str(folder) for folder in folders] + ([before] if before else []))
