#!/usr/bin/env python3
"""install_packages.sh and build.sh on machines that are made up: a PATH of stand-ins which note how they are called."""
import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).parents[3]
FILES = ["CMakeLists.txt"] + [f"framework/cmake/{name}" for name in ("install_packages.sh", "build.sh", "packages.txt")]
USED = ["bash", "env", "sed", "grep", "dirname", "sort", "head", "tail", "awk", "mkdir", "cat", "cp"]
LINES = (ROOT / "framework/cmake/packages.txt").read_text().splitlines()
HEAD, = [line[1:].split() for line in LINES if line.startswith("#stage")]
ROWS = [dict(zip(HEAD, line.split())) for line in LINES if not line.startswith("#")]
INSTALL = {"dnf": "dnf install", "zypper": "zypper install", "pacman": "pacman -S", "apk": "apk add",
           "brew": "brew install"}

# Each asks the file of what is installed, or adds to it. apt-get brings the commands of a package from later/PACKAGE.
STANDINS = {
    "sudo": '"$@"',
    "dpkg-query": 'for name; do :; done; if grep -qx "$name" installed; then echo installed; else exit 1; fi',
    "apt-cache": 'grep -qx "$2" unknown || echo "$2 | 1.0"',
    "apt-get": """[ ! -e offline ] || [ "$1" != update ] || exit 100
[ "$1" = install ] || exit 0
[ ! -e broken ] || exit 100
[ "$DEBIAN_FRONTEND" = noninteractive ] || exit 1
for word; do
  if grep -qx -e "$word" unknown; then exit 100; fi
  echo "$word" >>installed
  if [ -d "later/$word" ]; then cp later/"$word"/* bin; fi
done""",
    "rpm": '[ "$1 $2" = "-q --whatprovides" ] && grep -qxF "$3" installed',
    "pacman": '[ "$1" = -T ] && grep -qx "$2" installed',
    "apk": '[ "$1 $2" = "info -e" ] && grep -qx "$3" installed',
    "brew": '[ "$1 $2" = "list --versions" ] && grep -qx "$3" installed',
    "dnf": "", "zypper": "",
}
MANAGERS = {"apt": ["apt-get", "apt-cache", "dpkg-query"], "dnf": ["dnf", "rpm"], "zypper": ["zypper", "rpm"],
            "pacman": ["pacman"], "apk": ["apk"], "brew": ["brew"], "what": []}
GNU_12 = "echo 12 __clang_major__"


def names(manager, stages=("build",)):
    return list(dict.fromkeys(row[manager] for row in ROWS if row["stage"] in stages))


class Machine(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for name in FILES:
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, self.root / name)
        (self.root / "bin").mkdir()
        for name in USED:
            (self.root / "bin" / name).symlink_to(shutil.which(name))
        for name in ("installed", "unknown", "calls"):
            (self.root / name).touch()

    def program(self, name, text="", folder="bin"):
        path = self.root / folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!{shutil.which('bash')}\ncd '{self.root}'\necho \"{name} $*\" >>calls\n{text}\n")
        path.chmod(0o755)

    def machine(self, manager, lacks=(), user=0, sudo=False, compiler=GNU_12):
        """One where everything is installed but the packages in lacks."""
        for name in MANAGERS[manager] + ["sudo"] * sudo:
            self.program(name, STANDINS[name])
        self.program("id", f"echo {user}")
        for row in ROWS:
            if row["command"] != "-":
                folder = f"later/{row[manager]}" if row[manager] in lacks else "bin"
                self.program(row["command"], compiler if row["command"] == "c++" else "", folder)
            elif row[manager] not in lacks:
                with open(self.root / "installed", "a") as installed:
                    installed.write(row[manager] + "\n")

    def execute(self, script, *words, **environment):
        (self.root / "calls").write_text("")
        done = subprocess.run([self.root / "framework/cmake" / script, *words], stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60,
                              env={"PATH": str(self.root / "bin"), **environment})
        self.out, self.err = done.stdout, done.stderr
        return done.returncode

    def calls(self, *programs):
        lines = (self.root / "calls").read_text().splitlines()
        return [line.strip() for line in lines if line.split()[0] in programs]

    def check(self, code, *words, err=(), **environment):
        """Runs install_packages.sh; err are parts of what it says."""
        self.assertEqual(self.execute("install_packages.sh", *words, **environment), code, self.out + self.err)
        for part in err:
            self.assertIn(part, self.err)
        if code == 0:
            self.assertEqual(self.err, "")


class Apt(Machine):
    BOTH = ["libfmt-dev", "zlib1g-dev"]

    def installs(self):
        return [line.split(" ", 5)[5] for line in self.calls("apt-get") if line.startswith("apt-get install")]

    def test_a_machine_that_has_it_all_is_left_in_peace(self):
        for user, sudo in ((0, False), (1000, True), (1000, False)):
            self.machine("apt", user=user, sudo=sudo)
            self.check(0, "--tests")
            self.assertEqual(self.out, "")
            self.assertEqual(self.calls("apt-get", "apt-cache", "sudo"), [])

    def test_root_installs_what_is_missing_and_only_that(self):
        self.machine("apt", self.BOTH + ["cmake"])
        self.check(0)
        self.assertEqual(self.calls("apt-get")[1:],
                         ["apt-get install -y -qq --no-install-recommends cmake libfmt-dev zlib1g-dev"])
        self.assertTrue(self.calls("apt-get")[0].startswith("apt-get update"))

    def test_nothing_at_all_is_there(self):
        self.machine("apt", names("apt", ("build", "lint", "tests")))
        self.check(0)
        self.assertEqual(self.installs(), [" ".join(names("apt"))])
        self.check(0, "--tests")
        self.assertEqual(self.installs(), [" ".join(names("apt", ("lint", "tests")))])

    def test_lint_asks_for_less_than_all_tests(self):
        self.machine("apt", names("apt", ("lint", "tests")))
        self.check(0, "--lint")
        self.assertEqual(self.installs(), [" ".join(names("apt", ("lint",)))])

    def test_a_browser_is_for_those_who_ask(self):
        self.machine("apt", names("apt", ("browser",)))
        self.check(0, "--tests")
        self.assertEqual(self.installs(), [])
        self.check(0, "--browser")
        self.assertEqual(self.installs(), ["chromium chromium-driver"])

    def test_a_user_installs_through_sudo(self):
        self.machine("apt", self.BOTH, user=1000, sudo=True)
        self.check(0)
        update, install = self.calls("sudo")
        self.assertIn("sudo apt-get update", update)
        self.assertIn("apt-get install", install)
        self.assertEqual(self.installs(), ["libfmt-dev zlib1g-dev"])

    def test_a_user_without_sudo_is_told_what_an_administrator_would_run(self):
        self.machine("apt", self.BOTH, user=1000)
        self.check(1, err=["missing: libfmt-dev zlib1g-dev;", "\n  apt-get install libfmt-dev zlib1g-dev\n"])
        self.assertEqual(self.calls("apt-get"), [])

    def test_without_a_network_the_error_names_what_is_still_missing(self):
        for file in ("offline", "broken"):
            (self.root / file).touch()
        self.machine("apt", self.BOTH, user=1000, sudo=True)
        self.check(1, err=["still missing: libfmt-dev zlib1g-dev;", "apt-get update failed",
                           "or: sudo apt-get install libfmt-dev zlib1g-dev\n"])

    def test_a_failed_update_matters_only_if_something_stays_missing(self):
        (self.root / "offline").touch()
        self.machine("apt", self.BOTH)
        self.check(0)

    def test_a_package_that_apt_does_not_know_is_named_and_the_others_are_installed(self):
        (self.root / "unknown").write_text("libtomlplusplus-dev\n")
        self.machine("apt", self.BOTH + ["libtomlplusplus-dev"])
        self.check(1, err=["still missing: libtomlplusplus-dev;", "apt has no package libtomlplusplus-dev:",
                           "LEARN_PACKAGES=skip"])
        self.assertNotIn("update failed", self.err)
        self.assertEqual(self.installs(), ["libfmt-dev zlib1g-dev"])

    def test_what_came_by_other_means_can_be_vouched_for(self):
        self.machine("apt", self.BOTH)
        self.check(0, LEARN_PACKAGES="skip")
        self.assertEqual(self.calls("apt-get", "dpkg-query"), [])


class Compiler(Machine):
    def test_one_that_is_too_old(self):
        for manager, version, said, remedy in (
                ("apt", "11 __clang_major__", "g++ 11", "apt-get install g++-12, then export CXX=g++-12"),
                ("dnf", "4 13", "clang 13", "install a newer one, then export CXX=")):
            self.setUp()
            self.machine(manager, compiler=f"echo {version}")
            self.check(1, err=[f"'c++' is {said}, too old;", remedy])
            self.assertEqual(self.err.count("\n"), 1)

    def test_one_that_is_new_enough(self):
        for version in ("12 __clang_major__", "13 __clang_major__", "4 14", "4 21"):
            self.machine("apt", compiler=f"echo {version}")
            self.check(0)

    def test_the_chosen_one_counts(self):
        self.machine("apt", compiler="echo 11 __clang_major__")
        self.program("g++-12", GNU_12)
        self.check(0, CXX="g++-12 -pipe")
        self.check(1, CXX="c++", err=["'c++' is g++ 11"])
        self.check(1, CXX="g++-99", err=["'g++-99' does not run"])

    def test_clang_alone_will_do(self):
        self.machine("apt", ["g++"])
        self.program("clang++", "echo 4 14")
        self.check(0)
        self.assertEqual(self.calls("apt-get"), [])

    def test_the_one_that_apt_brings_may_be_too_old(self):
        self.machine("apt", ["g++"], compiler="echo 11 __clang_major__")
        self.check(1, err=["'c++' is g++ 11, too old;"])
        self.assertEqual(len(self.calls("apt-get")), 2)


class OtherManagers(Machine):
    def test_complete(self):
        for manager in INSTALL:
            with self.subTest(manager):
                self.setUp()
                self.machine(manager, user=1000)
                self.check(0, "--tests")

    def test_what_is_missing_is_told_in_their_own_words(self):
        for manager, install in INSTALL.items():
            for user, sudo in ((1000, True), (1000, False), (0, True)):
                with self.subTest(manager, user=user, sudo=sudo):
                    self.setUp()
                    fmt, png = [row[manager] for row in ROWS if row["what"] in ("fmt", "libpng")]
                    tidy, = [row[manager] for row in ROWS if row["what"] == "clang-tidy"]
                    self.machine(manager, [fmt, png, tidy], user=user, sudo=sudo)
                    before = "sudo " if sudo and user and manager != "brew" else ""
                    self.check(1, err=[f"missing: {fmt} {png};", f"\n  {before}{install} {fmt} {png}\n"])
                    self.check(1, "--tests", err=[f"\n  {before}{install} {fmt} {png} {tidy}\n"])
                    self.assertEqual(self.calls("sudo", "dnf", "zypper"), [])

    def test_a_name_that_needs_quotes_gets_them(self):
        self.machine("zypper", ["pkgconfig(libjpeg)"])
        self.check(1, err=["  zypper install pkgconfig\\(libjpeg\\)\n"])

    def test_without_a_known_manager(self):
        self.machine("what", ["CMake"])
        self.check(1, err=["none of apt-get, dnf", "CMake spdlog fmt", "libarchive Cairo Pango GLib DejaVu Protobuf", "LEARN_PACKAGES=skip"])
        self.assertNotIn("Ninja", self.err)
        self.check(0, LEARN_PACKAGES="skip")


class Words(Machine):
    def test_unknown_option(self):
        self.machine("apt", ["libfmt-dev"])
        self.check(2, "--test", err=["'--test'", "known: --lint, --tests"])
        self.assertEqual(self.calls("apt-get"), [])

    def test_help(self):
        self.check(0, "--help")
        for part in ("--lint", "--tests", "CXX=", "LEARN_PACKAGES=skip", "apk add bash"):
            self.assertIn(part, self.out)
        self.assertNotIn("#", self.out)

    def test_every_row_has_every_column(self):
        for line in LINES:
            if not line.startswith("#"):
                self.assertEqual(len(line.split()), len(HEAD), line)

    def test_libraries_come_with_their_headers(self):
        for row in ROWS:
            if row["command"] == "-" and not row["apt"].startswith("fonts-"):
                self.assertRegex(row["apt"], "-dev$")
                self.assertRegex(row["dnf"], "-devel$")
                self.assertRegex(row["zypper"], r"-devel$|^pkgconfig\(")


class Build(Machine):
    def build(self, version):
        self.program("cmake", f'[ "$1" != --version ] || echo "cmake version {version}\n\nCMake suite"')
        self.program("getconf", "echo 1")
        return self.execute("build.sh", "release", "learn", "tests_core")

    def test_a_cmake_that_is_too_old(self):
        for version in ("3.22.1", "3.9.6", "2.30.0"):
            self.assertEqual(self.build(version), 1)
            self.assertIn(f"CMake {version} is too old, 3.25 is needed: python3 -m pip install", self.err)
            self.assertEqual(self.err.count("\n"), 1)
            self.assertEqual(self.calls("cmake"), ["cmake --version"])

    def test_a_cmake_that_is_new_enough_and_a_machine_without_nproc(self):
        for version in ("3.25.0", "3.25.1", "3.31.6", "4.2.0-rc1"):
            self.assertEqual(self.build(version), 0, self.err)
            self.assertEqual(self.calls("cmake")[1:], [
                "cmake --preset release", "cmake --build build/release --parallel 1 --target learn tests_core"])

    def test_the_presets_need_the_same_cmake(self):
        needed, = re.findall(r"cmake_minimum_required\(VERSION (\d+)\.(\d+)\)", (ROOT / "CMakeLists.txt").read_text())
        presets = json.loads((ROOT / "CMakePresets.json").read_text())["cmakeMinimumRequired"]
        self.assertEqual((str(presets["major"]), str(presets["minor"]), presets["patch"]), (*needed, 0))


if __name__ == "__main__":
    unittest.main()
