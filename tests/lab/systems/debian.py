"""A fresh Debian in a folder: created by debootstrap from this machine's package source, entered by chroot with separate mounts
and processes, which end with the command."""
import os
import pathlib
import shutil
import subprocess

LONGEST = 7200  # seconds that a command may take


class SystemsError(Exception):
    """This machine cannot do it; the text says what is missing."""


def package_source():
    """Where this machine's apt takes Debian's packages from."""
    targets = subprocess.run(["apt-get", "indextargets", "--format", "$(ORIGIN) $(REPO_URI)", "Created-By: Packages"],
                             capture_output=True, text=True, check=True).stdout.splitlines()
    for origin, _, uri in (line.partition(" ") for line in targets):
        if origin == "Debian" and "security" not in uri:
            return uri
    raise SystemsError("apt has no lists of Debian's packages here: is this Debian, and was 'apt-get update' run?")


def apt_settings():
    """How this machine's apt reaches its sources: proxies, time-outs, whether dates are checked."""
    lines = subprocess.run(["apt-config", "dump"], capture_output=True, text=True, check=True).stdout.splitlines()
    return "".join(f"{line}\n" for line in lines if line.startswith("Acquire::") and not line.endswith('"";'))


def need_tools():
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        raise SystemsError("a fresh Debian is made by root on a Debian machine")
    missing = [package for program, package in (("debootstrap", "debootstrap"), ("ip", "iproute2")) if not shutil.which(program)]
    if missing:
        for words in (["update", "-qq"], ["install", "-y", "-qq", "--no-install-recommends", *missing]):
            subprocess.run(["apt-get", *words], stdout=subprocess.DEVNULL, check=True)


class Debian:
    """`release` ("trixie") in `folder`, created again, with two users: "user" may use sudo, "guest" may not. The output of
    commands goes to the log next to the folder."""

    def __init__(self, release, folder):
        need_tools()
        self.release = release
        self.folder = pathlib.Path(folder).resolve()
        self.remove()
        pathlib.Path(f"{self.folder}.log").unlink(missing_ok=True)
        self.log = open(f"{self.folder}.log", "a")  # others write to it too
        self.call(["debootstrap", "--variant=minbase", release, str(self.folder), package_source()])
        (self.folder / "etc/apt/apt.conf.d/00machine").write_text(apt_settings())
        for name in ("resolv.conf", "hosts"):
            shutil.copy(f"/etc/{name}", self.folder / "etc" / name)
        self.run("apt-get update -qq && apt-get install -y -qq --no-install-recommends sudo")
        for name in ("user", "guest"):
            self.run(f"useradd --create-home --shell /bin/bash {name}")
        (self.folder / "etc/sudoers.d/user").write_text("user ALL=(ALL) NOPASSWD: ALL\n")
        self.run("chmod go+rx ~user")

    def remove(self):
        if self.folder.exists():
            shutil.rmtree(self.folder)

    def text(self):
        """All that was printed so far."""
        return pathlib.Path(self.log.name).read_text(errors="replace")

    def call(self, words):
        """Runs a program of this machine; what it prints goes to the log."""
        self.log.write(f"$ {' '.join(words)}\n")
        self.log.flush()
        subprocess.run(words, stdin=subprocess.DEVNULL, stdout=self.log, stderr=subprocess.STDOUT, check=True,
                       timeout=LONGEST)

    def run(self, command, user="root", network=True, mounts=()):
        """Runs a shell command as `user`, in that user's home; CalledProcessError if it fails. `mounts` are folders of
        this machine that are seen there, by the same names."""
        # `ip netns exec` needs a root that is a mount.
        inside = ["set -eu", 'root=$1; user=$2; command=$3', 'mount --bind "$root" "$root"', 'mount -t proc proc "$root/proc"']
        for name in ("/dev", "/sys", *mounts):
            inside += [f'mkdir -p "$root{name}"', f'mount --rbind "{name}" "$root{name}"']
        if not network:
            inside += ["ip link set lo up"]  # every machine has it, and Open MPI 5 does not start without it
        # Not by exec: the shell reaps what lost its parent.
        inside += ['chroot "$root" su - "$user" -c "$command"; exit $?']
        own = ["--mount", "--pid", "--fork", "--kill-child"] + ([] if network else ["--net"])
        self.call(["unshare", *own, "sh", "-c", "\n".join(inside), "sh", str(self.folder), user, command])

    def clone(self, repository, name, user):
        """A clean clone of what is committed there, in the user's home. Returns where it lies, seen from outside."""
        home = "root" if user == "root" else f"home/{user}"
        tree = self.folder / home / name
        self.call(["git", "-c", "safe.directory=*", "clone", "--quiet", "--no-local", str(repository), str(tree)])
        self.give(tree, user)
        return tree

    def give(self, tree, user):
        self.run(f"chown -R {user}: '/{tree.relative_to(self.folder)}'")
