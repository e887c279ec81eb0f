"""The GPU of this machine, as the driver reports it; does not need a toolkit."""
import ctypes
import dataclasses
import os
import pathlib
import re
import subprocess


class NoGpu(Exception):
    """Reason for its absence."""


# Properties that determine its speed, for nvidia-smi.
SETTINGS = ["pstate", "clocks.sm", "clocks.max.sm", "clocks.mem", "power.draw", "power.limit", "temperature.gpu",
            "clocks_event_reasons.active", "mig.mode.current"]


@dataclasses.dataclass
class Gpu:
    """The first GPU, and how many there are."""
    name: str
    driver: str
    count: int = 1


def fake():
    return Gpu("FAKE (no GPU)", "none", int(os.environ.get("FAKE_CUDA_DEVICES", "1")))


def driver_version(api, said_by="/proc/driver/nvidia/version"):
    """"580.159.04"; "for CUDA 13.0" where the kernel does not tell."""
    try:
        found = re.search(r"Kernel Module.*?(\d+\.[\d.]*\d)", pathlib.Path(said_by).read_text())
    except OSError:
        found = None
    if found:
        return found[1]
    number = ctypes.c_int()
    api.cuDriverGetVersion(ctypes.byref(number))
    return f"for CUDA {number.value // 1000}.{number.value % 1000 // 10}"


def settings():
    """"clocks.sm 1980 MHz, ..." of the first GPU as it is now; why not, if nvidia-smi does not say."""
    try:
        said = subprocess.run(["nvidia-smi", f"--query-gpu={','.join(SETTINGS)}", "--format=csv,noheader", "--id=0"],
                              capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"unknown: nvidia-smi: {error}"
    if said.returncode != 0:
        return f"unknown: nvidia-smi: {(said.stdout + said.stderr).strip().splitlines()[:1]}"
    return ", ".join(f"{name} {value.strip()}" for name, value in zip(SETTINGS, said.stdout.split(",")))


def find():
    """The first GPU. Raises NoGpu."""
    if "fakecuda" in os.environ.get("LD_PRELOAD", ""):
        raise NoGpu("the fake CUDA runtime is preloaded (LD_PRELOAD)")
    try:
        api = ctypes.CDLL("libcuda.so.1")
    except OSError:
        raise NoGpu("there is no NVIDIA driver (libcuda.so.1)") from None
    code = api.cuInit(0)
    if code != 0:
        raise NoGpu(f"the NVIDIA driver cannot be used (cuInit returns {code})")
    count, device, name = ctypes.c_int(), ctypes.c_int(), ctypes.create_string_buffer(256)
    api.cuDeviceGetCount(ctypes.byref(count))
    if count.value == 0:
        raise NoGpu("the NVIDIA driver sees no GPU")
    if api.cuDeviceGet(ctypes.byref(device), 0) or api.cuDeviceGetName(name, len(name), device):
        raise NoGpu("the NVIDIA driver does not name its GPU")
    return Gpu(name.value.decode(), driver_version(api), count.value)
