#!/usr/bin/env python3
"""The configuration of the CUDA backend with toolkits that are made up: which options nvcc of a version gets, which reason
is given where the backend cannot be built, and that only LEARN_CUDA=ON stops then.

With --toolkit NVCC, a real compiler, also: it is found in the layout of pip's packages.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).parents[3]
CODE = ROOT / "framework/cmake/CudaCode.cmake"
PROJECT = f"""cmake_minimum_required(VERSION 3.25)
project(mini CXX)
# Nothing of the machine's own toolkit is found.
set(CMAKE_FIND_USE_CMAKE_SYSTEM_PATH OFF)
set(CMAKE_FIND_USE_SYSTEM_ENVIRONMENT_PATH OFF)
list(APPEND CMAKE_MODULE_PATH "{ROOT}/framework/cmake")
include(Cuda)
message(STATUS "have cuda: ${{LEARN_HAVE_CUDA}}")
if(LEARN_HAVE_CUDA)
  get_target_property(runtime CUDA::cudart IMPORTED_LOCATION)
  message(STATUS "links: ${{runtime}}")
endif()
"""
NVCC = """#!/bin/sh
if [ "$1" = --version ]; then echo "Cuda compilation tools, release VERSION"; exit; fi
COMPILE
"""
WORKS = 'while [ "$1" != -o ]; do shift; done; : >"$2"'
TOO_NEW = ("echo 'In file included from probe.cu:1:'\n"
           "echo 'host_config.h:132:2: error: #error -- unsupported GNU version! gcc versions later than 13 are not supported!'\n"
           "exit 1")


class Options(unittest.TestCase):
    def test_code_follows_the_version_of_the_toolkit(self):
        old = "sm_80,sm_86,sm_89,sm_90,compute_80"
        new = "sm_80,sm_86,sm_89,sm_90,sm_100,sm_120,compute_80"
        for version, code in [("12.0", old), ("12.0.140", old), ("12.4.131", old), ("12.6", old), ("12.7", old), ("12.8", new),
                              ("12.8.93", new), ("12.9", new), ("13.0.88", new), ("13.5", new)]:
            ran = subprocess.run(["cmake", f"-DVERSION={version}", "-P", str(CODE)], capture_output=True, text=True, check=True)
            self.assertEqual(ran.stdout.strip(), f"--generate-code=arch=compute_80,code=[{code}] --no-compress", version)


class Toolkit(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        (self.root / "CMakeLists.txt").write_text(PROJECT)
        self.toolkit = self.root / "toolkit"

    def nvcc(self, version="12.4, V12.4.131", compiles=WORKS):
        path = self.toolkit / "bin/nvcc"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(NVCC.replace("VERSION", version).replace("COMPILE", compiles))
        path.chmod(0o755)
        return path

    def file(self, name, text=""):
        path = self.toolkit / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def configure(self, *words, **environment):
        shutil.rmtree(self.root / "build", ignore_errors=True)
        names = ("CUDA_HOME", "CUDA_PATH", "CUDACXX", "CUDAHOSTCXX", "CUDNN_ROOT", "VIRTUAL_ENV", "CONDA_PREFIX")
        inherited = {name: value for name, value in os.environ.items() if name not in names}
        ran = subprocess.run(["cmake", "-S", str(self.root), "-B", str(self.root / "build"), "-DLEARN_TOOLKITS=/nowhere", *words], text=True,
                             env={**inherited, **environment}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return ran.returncode, ran.stdout

    def check_off(self, reason, *words, **environment):
        """AUTO continues and prints the reason in one line; ON stops with the same reason."""
        self.check_auto(reason, *words, **environment)
        code, out = self.configure(*words, "-DLEARN_CUDA=ON", **environment)
        self.assertEqual(code, 1, out)
        self.assertRegex(" ".join(out.split()), "LEARN_CUDA=ON, but .*" + reason)

    def check_auto(self, reason, *words, **environment):
        code, out = self.configure(*words, **environment)
        self.assertEqual(code, 0, out)
        line, = [line for line in out.splitlines() if "CUDA backend" in line]
        self.assertRegex(line, "^-- CUDA backend: off, because .*" + reason)
        self.assertIn("have cuda: 0", out)

    def check_off_with(self, reason):
        self.check_off(reason, f"-DCMAKE_CUDA_COMPILER={self.toolkit / 'bin/nvcc'}")


class MadeUp(Toolkit):
    def test_no_compiler(self):
        self.check_off("nvcc is neither in PATH nor in /nowhere: install the CUDA toolkit, 12.0 or newer, or set CUDACXX")

    def test_a_compiler_that_is_not_there(self):
        self.check_off("/nowhere/nvcc --version' does not print a version of nvcc", "-DCMAKE_CUDA_COMPILER=/nowhere/nvcc")
        self.check_off("/nowhere/nvcc --version' does not print a version of nvcc", CUDACXX="/nowhere/nvcc")

    def test_a_compiler_that_does_not_run(self):
        path = self.nvcc()
        path.write_text("#!/bin/sh\necho 'nvcc: error while loading shared libraries: libx.so'\nexit 127\n")
        self.check_off_with("does not print a version of nvcc: nvcc: error while loading shared libraries: libx.so")
        path.write_text("#!/bin/sh\nexit 0\n")
        self.check_off_with("does not print a version of nvcc: without a word")

    def test_a_compiler_that_is_too_old(self):
        self.nvcc("11.8, V11.8.89")
        self.check_off_with("nvcc 11.8.89 .*does not support C\\+\\+20: 12.0 or newer is needed")

    def test_a_host_compiler_that_is_too_new(self):
        self.nvcc(compiles=TOO_NEW)
        self.check_off_with("nvcc 12.4.131 .*cannot compile with .*: .*unsupported GNU version! .*Name a compiler that this nvcc "
                            "supports: -DCMAKE_CUDA_HOST_COMPILER=")

    def test_a_toolkit_without_headers_or_code_generator(self):
        self.nvcc(compiles="echo 'cicc: not found'; exit 1")
        self.check_off_with("nvcc 12.4.131 .*cannot compile with .*: cicc: not found")

    def test_a_toolkit_without_the_runtime(self):
        self.nvcc()
        self.check_off_with("the CUDA runtime .libcudart.so. is not in the toolkit of .*/nvcc: install the whole toolkit")

    def test_a_compiler_that_cmake_cannot_use(self):
        self.nvcc()
        self.file("lib/libcudart.so.12")
        self.check_off_with("CMake cannot use .*nvcc: see .*CMakeError.log")

    def test_off_is_no_surprise(self):
        code, out = self.configure("-DLEARN_CUDA=OFF")
        self.assertEqual(code, 0)
        self.assertIn("CUDA backend: off, because LEARN_CUDA is OFF", out)


def toolkit_of(nvcc):
    """The folder of the toolkit as nvcc itself names it: the nvcc in PATH may be a script that starts another one."""
    said = subprocess.run([nvcc, "--dryrun", "-c", "x.cu", "-o", "x.o"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    top, = (line.removeprefix("#$ TOP=") for line in said.stdout.splitlines() if line.startswith("#$ TOP="))
    return pathlib.Path(os.path.realpath(top))


class PipPackages(Toolkit):
    """A real toolkit, taken apart as pip installs it: no lib64, libraries only by their names with numbers."""
    real = None

    def setUp(self):
        super().setUp()
        if self.real is None:
            self.skipTest("needs --toolkit")
        real = toolkit_of(self.real)
        site = self.root / "venv/lib/python3.11/site-packages/nvidia"
        self.toolkit = site / "cu13"
        (self.toolkit / "bin").mkdir(parents=True)
        for path in (real / "bin").iterdir():
            if path.name == "nvcc":
                shutil.copy2(path, self.toolkit / "bin/nvcc")  # it looks for the others beside itself
            else:
                (self.toolkit / "bin" / path.name).symlink_to(path)
        (self.toolkit / "nvvm").symlink_to(real / "nvvm")
        (self.toolkit / "include").mkdir()
        for path in (real / "include").iterdir():
            if not path.name.startswith("cudnn"):
                (self.toolkit / "include" / path.name).symlink_to(path)
        (self.toolkit / "lib").mkdir()
        for path in (real / "lib64").iterdir():
            if path.suffix == ".a" or path.name.startswith(("libcudart.so.", "libcublasLt.so.")):
                (self.toolkit / "lib" / path.name).symlink_to(path)
        self.cudnn = site / "cudnn/include"
        self.cudnn.mkdir(parents=True)

    def cudnn_headers(self, version):
        major, minor, patch = version.split(".")
        (self.cudnn / "cudnn.h").write_text("")
        (self.cudnn / "cudnn_version.h").write_text(
            f"#define CUDNN_MAJOR {major}\n#define CUDNN_MINOR {minor}\n#define CUDNN_PATCHLEVEL {patch}\n")

    def environment(self):
        return {"VIRTUAL_ENV": str(self.root / "venv"), "CUDA_HOME": "/nowhere"}

    def test_they_are_found(self):
        self.cudnn_headers("9.19.0")
        words = [f"-DCMAKE_CUDA_COMPILER={self.toolkit / 'bin/nvcc'}"]
        code, out = self.configure(*words, **self.environment())
        self.assertEqual(code, 0, out)
        self.assertIn("have cuda: 1", out)
        self.assertRegex(out, f"links: {self.toolkit}/lib/libcudart.so.[0-9]")
        self.assertRegex(out, f"CUDA backend: on .*{self.toolkit}/lib/libcudart.so.*cuDNN 9.19.0")

    def test_their_compiler_is_found_without_being_named(self):
        self.cudnn_headers("9.19.0")
        code, out = self.configure(**self.environment())
        self.assertEqual(code, 0, out)
        self.assertRegex(out, f"CUDA backend: on .{self.toolkit}/bin/nvcc")

    def test_a_script_that_starts_their_compiler(self):
        self.cudnn_headers("9.19.0")
        script = self.root / "elsewhere/bin/nvcc"
        script.parent.mkdir(parents=True)
        script.write_text(f'#!/bin/sh\nexec {self.toolkit}/bin/nvcc "$@"\n')
        script.chmod(0o755)
        code, out = self.configure(f"-DCMAKE_CUDA_COMPILER={script}", **self.environment())
        self.assertEqual(code, 0, out)
        self.assertRegex(out, f"links: {self.toolkit}/lib/libcudart.so.[0-9]")
        self.assertRegex(out, f"CUDA backend: on .*{self.toolkit}/lib/libcudart.so.*cuDNN 9.19.0")

    def test_what_is_missing_is_named(self):
        compiler = f"-DCMAKE_CUDA_COMPILER={self.toolkit / 'bin/nvcc'}"
        self.check_off("cuDNN's headers .*are missing: install NVIDIA's package libcudnn9-dev-cuda-.* or pip's nvidia-cudnn-cu",
                       compiler, **self.environment())
        self.cudnn_headers("9.7.1")
        self.check_auto("cuDNN 9.7.1 .*is too old: 9.8 or newer is needed", compiler, **self.environment())
        (self.toolkit / "include/cublasLt.h").unlink()
        self.check_auto("has no cublasLt.h: install the headers of cuBLAS", compiler, **self.environment())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--toolkit")
    options, rest = parser.parse_known_args()
    PipPackages.real = options.toolkit
    unittest.main(argv=[sys.argv[0], *rest])
