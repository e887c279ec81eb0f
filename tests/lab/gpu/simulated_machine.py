"""A machine with a GPU whose programs are shell scripts, for tests of the GPU run."""
import contextlib
import hashlib
import io
import json
import os
import pathlib
import stat
import sys
import tempfile
import unittest
import unittest.mock

import device
import libraries
import run

DOCTEST = ("[doctest] test cases:  12 |  12 passed | 0 failed | 0 skipped\n"
           "[doctest] assertions: 345 | 345 passed | 0 failed |\n")


def write_run(folder, losses, weight=b"\1\2\3\4"):
    """Writes the files of a training that compare_trainings.py reads."""
    (folder / "weights").mkdir(parents=True)
    (folder / "run.log").write_text("info epoch\n")
    (folder / "results.csv").write_text("epoch,time,loss\n1,0,2\n")
    (folder / "metrics.jsonl").write_text("".join(json.dumps({"batch": i, "loss": loss}) + "\n" for i, loss in enumerate(losses)))
    header = {"__metadata__": {"learn.sha256": "0" * 64}, "w": {"dtype": "F32", "shape": [1], "data_offsets": [0, len(weight)]}}
    text = json.dumps(header).encode()
    data = len(text).to_bytes(8, "little") + text + weight
    data = data.replace(b"0" * 64, hashlib.sha256(data).hexdigest().encode(), 1)
    for name in ("last", "best"):
        (folder / "weights" / f"{name}.safetensors").write_bytes(data)


class SimulatedMachine(unittest.TestCase):
    """Calls main() of the run on a simulated GPU, in a separate folder."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        write_run(self.root / "trained", [2.0, 1.5])
        self.learn("trained")
        # Sums that nothing hides take half of the time of steps without them.
        self.script("build/release/bin/bench_step",
                    "[ ${RANK:-0} = 0 ] || exit 0\n[ \"$9\" = --graph ] && mode=graph || mode=eager\n"
                    "case \"$*\" in *--no-overlap*) overlap=false ms=12;; *) overlap=true ms=9;; esac\n"
                    "[ ${WORLD_SIZE:-1} != 1 ] && more=', \"apart_ms\": 8, \"overlap\": '$overlap || ms=8\n"
                    "echo '{\"model\": \"'$2'\", \"batch\": '$4', \"precision\": \"'$8'\", \"mode\": \"'$mode'\", \"step_ms\": '$ms',"
                    " \"images_per_s\": 100, \"host_wall_us\": 5, \"operations\": 9'\"$more\"'}'")
        self.script("build/release/bin/tests_cuda_nccl",
                    f"echo ${{RANK:-none}} of ${{WORLD_SIZE:-none}} $LEARN_EXPECT_DEVICE >>'{self.root}/ranks'\necho '{DOCTEST}'")
        for name in ("bin/bench_cifar", "bin/bench_precisions", "tests/lab/cuda/libkernellog.so", "tests/lab/cuda/fake/libfakecuda.so"):
            self.script(f"build/release/{name}", "exit 1")
        kernels = self.root / "build/release" / run.KERNELS
        kernels.parent.mkdir(parents=True)
        kernels.write_bytes(b"\0libc.so.6\0libcudart.so.13\0")
        self.toolkit = self.root / "toolkit"
        self.toolkit.mkdir()
        for name in ("libcudnn.so.9", "libcublasLt.so.13", "libnccl.so.2"):
            (self.toolkit / name).touch()
        for program in run.PROGRAMS:
            self.script(f"build/release/bin/{program}",
                        f"[ \"$1\" = --list-test-cases ] && printf 'a\nb\nc\nd\ne\n' && exit\n"
                        f"echo {program} $LD_LIBRARY_PATH $LEARN_EXPECT_DEVICE >>'{self.root}/ran'\n"
                        f"echo a_kernel >>\"$LEARN_KERNEL_LOG\"\necho 'memory: net: 5 MiB'\necho '{DOCTEST}'")
        self.script("build/release/bin/planted_faults", "[ $1 = none ] || echo fault")
        self.sanitizer("--initcheck-track-filtered-global-memory arg (=yes)")
        self.script("framework/cmake/build.sh", "echo built")
        self.script("framework/cmake/install_packages.sh", "")
        (self.root / "tests/lab/gpu").mkdir(parents=True)
        (self.root / "ledger.py").write_text("import sys\nprint('ledger', *sys.argv[1:])\n")

    def learn(self, alone, several=None, more=""):
        """A learn whose trainings are the run in the folder `alone`; with several ranks the one in `several`."""
        self.script("build/release/bin/learn",
                    f"[ $1 = train ] || exec echo 'cuDNN 9.19.0 of X9'\n{more}\n[ ${{RANK:-0}} = 0 ] || exit 0\n"
                    f"[ ${{WORLD_SIZE:-1}} = 1 ] && run='{self.root / alone}' || run='{self.root / (several or alone)}'\n"
                    "while [ $# != 0 ]; do case $1 in --out) out=$2;; --name) name=$2;; esac; shift; done\n"
                    "mkdir -p \"$out\" && cp -r \"$run\" \"$out/$name\"")

    def sanitizer(self, options):
        """A compute-sanitizer whose help has these options."""
        self.script("tools/compute-sanitizer",
                    f"if [ $1 = --help ]; then echo '{options}'; exit; fi\n"
                    f"echo \"$@\" >>'{self.root}/sanitized'\n"
                    "while [ \"${1#--}\" != \"$1\" ]; do [ $1 != --kernel-name ] || shift; shift; done\n"
                    "said=`\"$@\"`; status=$?; echo \"$said\"; [ \"$said\" = fault ] && exit 99; exit $status")

    def script(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def main(self, *words, tools=True, find=lambda: device.Gpu("X9", "1.2")):
        path = f"{self.root / 'tools'}:/usr/bin:/bin" if tools else "/usr/bin:/bin"
        out = io.StringIO()
        with unittest.mock.patch.multiple(run, ROOT=self.root, LEDGER=self.root / "ledger.py",
                                          RESULTS=self.root / "tests/lab/gpu/results", TOOLKIT="/nowhere"), \
                unittest.mock.patch.object(device, "find", find), \
                unittest.mock.patch.object(device, "settings", lambda: "clocks.sm 1980 MHz"), \
                unittest.mock.patch.object(libraries, "of_toolkits", lambda: [self.toolkit]), \
                unittest.mock.patch.object(libraries, "is_loadable", lambda name: False), \
                unittest.mock.patch.dict(os.environ, PATH=path), \
                unittest.mock.patch.object(sys, "argv", ["run.py", *words]), \
                contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            return run.main(), out.getvalue()

    def summaries(self):
        return [path.read_text() for path in self.root.glob("tests/lab/gpu/results/*-X9.md")]

    def ran(self):
        return (self.root / "ran").read_text().splitlines() if (self.root / "ran").exists() else []
