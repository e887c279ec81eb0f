#!/usr/bin/env python3
"""Which kernels, in exactly the form the compiler gives them today, have passed their tests on a GPU?

kernel_ledger.py check BINARY...                          prints it; --strict: exit 1 if one has not
kernel_ledger.py record BINARY... --gpu NAME --date DATE --grade GRADE
                                                          writes tests/lab/gpu/ledger, after a run on a GPU in which all passed
kernel_ledger.py ran BINARY... --ran FILE                 exit 1 if a kernel has not run
  --ran FILE  only these kernels have run: mangled names, one per line, as libkernellog.so writes them

A kernel's form is the hash of its PTX without comments, line numbers and labels of debugging, so that only a
change of its code changes it. tests/lab/gpu/ledger has one line per kernel: hash, grade, date, GPU, name. The grade is
"numbers" if its tests passed, and "sanitizers" if they did so under compute-sanitizer as well.
"""
import hashlib
import pathlib
import re
import sys

import fat_binary

LEDGER = pathlib.Path(__file__).with_name("ledger")
GRADES = ["numbers", "sanitizers"]  # the better one last
# Names in an anonymous namespace contain numbers that nvcc derives from the path of the source file, and sometimes from its
# process, preceded by the total length and followed by the length of the name. All differ from build to build.
PATH_HASH = re.compile(r"(?:\d+_GLOBAL__N_)?_[0-9a-f]{8}_\d+_\w+?_cu_[0-9a-f]{8}_?[0-9]*")


def stripped(text):
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)
    text = re.sub(r"^\s*\.loc\b[^\n]*$", "", text, flags=re.MULTILINE)
    return re.sub(r"\s+", " ", text).strip()


def kernels_of(text):
    """mangled name -> (source file, hash) of each kernel in a PTX text."""
    found = {}
    files = re.findall(r'^\s*\.file\s+1\s+"([^"]*)"', text, flags=re.MULTILINE)
    file = pathlib.Path(files[0]).name if files else "?"
    version = re.search(r"^\.target\s+(\w+)", text, flags=re.MULTILINE)
    for match in re.finditer(r"\.entry\s+([\w$]+)(.*?)^\}", text, flags=re.DOTALL | re.MULTILINE):
        # Its own number in the labels depends on its place in the file.
        body = re.sub(r"\$L__BB\d+_", "$L_", stripped(match[2]).replace(match[1], ""))
        body = PATH_HASH.sub("_", body)
        target = version[1] if version else ""
        found[match[1]] = (file, hashlib.sha256((target + body).encode()).hexdigest()[:16])
    return found


def kernels_in(files, ran=None):
    """"file.cu kernel<types>(parameters)" -> hash, over all binaries; only those that `ran`, if given."""
    found = {}
    for file in files:
        for text in fat_binary.ptx_texts(file):
            found.update(kernels_of(text))
    if ran is not None:
        found = {name: form for name, form in found.items() if name in ran}
    return {f"{source} {name}": form for name, (source, form) in zip(fat_binary.demangle(found), found.values())}


def print_unseen_by_sanitizers(files):
    """Kernels that a run under compute-sanitizer would pass over without a word: its filter is a part of their names."""
    names = [name for file in files for text in fat_binary.ptx_texts(file) for name in kernels_of(text)]
    unseen = sorted(name for name in names if "5learn" not in name)
    for name in unseen:
        print(f"  not in namespace learn, so the sanitizers of tests/lab/gpu/run.py do not look at it: {name}")
    return bool(unseen)


def read_ledger():
    rows = (line.split(" ", 4) for line in LEDGER.read_text().splitlines() if line and line[0] != "#")
    return {name: (form, grade, date, gpu.replace("_", " ")) for form, grade, date, gpu, name in rows}


def check(now, strict):
    known = read_ledger()
    stale = [name for name, form in now.items() if known.get(name, ("",))[0] != form]
    for name in sorted(stale):
        last = f"changed since {known[name][2]}" if name in known else "never run on one"
        if strict:
            print(f"  {name}: {last}")
    changed = sum(name in known for name in stale)
    passed = len(now) - len(stale)
    sanitized = sum(known[name][:2] == (form, GRADES[-1]) for name, form in now.items() if name in known)
    print(f"GPU ledger: {passed} of {len(now)} kernels have passed on a GPU in their present form, {sanitized} of them under the "
          f"sanitizers; "
          f"{changed} changed since they did, {len(stale) - changed} never have")
    return 1 if strict and stale else 0


def print_missing(now, ran):
    missing = sorted(set(now) - set(ran))
    shown = 20
    for name in missing[:shown]:
        print(f"  did not run: {name}")
    if len(missing) > shown:
        print(f"  and {len(missing) - shown} more")
    print(f"{len(ran)} of {len(now)} kernels ran")


def recorded(known, now, ran, grade, date, gpu):
    """The lines after a run. Kernels that did not run keep the line they have, as do those that have a better grade in this
    form; those that are gone lose it."""
    lines = {name: line for name, line in known.items() if name in now}
    for name, form in ran.items():
        before = lines.get(name)
        if before is None or before[0] != form or GRADES.index(before[1]) <= GRADES.index(grade):
            lines[name] = (form, grade, date, gpu)
    return lines


def record(now, ran, grade, date, gpu):
    head = [line for line in LEDGER.read_text().splitlines() if line.startswith("#")]
    lines = recorded(read_ledger(), now, ran, grade, date, gpu)
    rows = [f"{form} {grade} {on} {by.replace(' ', '_')} {name}" for name, (form, grade, on, by) in sorted(lines.items())]
    LEDGER.write_text("\n".join(head + rows) + "\n")
    with_or_without = "under the sanitizers too" if grade == GRADES[-1] else "without sanitizers"
    print(f"GPU ledger: {len(ran)} of {len(now)} kernels recorded for {gpu}, {date}, {with_or_without}")


def self_test():
    text = ".target sm_90\n.visible .entry a(\n.param .u64 a_param_0\n)\n{\n.loc 1 2 3\nadd.s32 %r1, %r2, %r3; // x\n}\n"
    form = kernels_of(text)["a"][1]
    assert kernels_of(text.replace(".loc 1 2 3", ".loc 1 9 3").replace("// x", ""))["a"][1] == form
    assert kernels_of(text.replace("%r3", "%r4"))["a"][1] != form
    now = {"a": "1", "b": "2", "c": "3"}
    best, plain, old = ("1", "sanitizers", "d", "g"), ("2", "numbers", "d", "g"), ("0", "sanitizers", "d", "g")
    known = {"a": best, "b": plain, "c": old, "gone": best}
    assert recorded(known, now, now, "numbers", "D", "G") == {"a": best, "b": ("2", "numbers", "D", "G"), "c": ("3", "numbers", "D", "G")}
    assert recorded(known, now, {"b": "2"}, "sanitizers", "D", "G") == {"a": best, "b": ("2", "sanitizers", "D", "G"), "c": old}
    one = "_GLOBAL__N__6f843add_13_activation_cu_1c6a4322_261425relu"
    assert PATH_HASH.sub("_", one) == PATH_HASH.sub("_", one.replace("6f843add", "00000000")) == "_GLOBAL__N__relu"
    shared = "_ZZN5learn4cuda{}_GLOBAL__N__117717b7_11_map_cuda_cu_258febcf{}14program_kernelE9registers"
    forms = {PATH_HASH.sub("_", shared.format(*numbers)) for numbers in [(44, ""), (49, "_1234"), (50, "_12345")]}
    assert forms == {"_ZZN5learn4cuda_program_kernelE9registers"}


def main():
    self_test()
    words = sys.argv[1:]
    options = {words[i]: words[i + 1] for i in range(len(words) - 1) if words[i] in ("--gpu", "--date", "--grade", "--ran")}
    files = [w for w in words[1:] if not w.startswith("--") and w not in options.values()]
    if not words or words[0] not in ("check", "record", "ran") or not files:
        sys.exit(__doc__)
    now = kernels_in(files)
    if not now:
        sys.exit(f"no PTX in {', '.join(files)}")
    if words[0] == "ran" and "--ran" not in options:
        sys.exit("ran needs --ran FILE")
    ran = kernels_in(files, set(pathlib.Path(options["--ran"]).read_text().split())) if "--ran" in options else now
    if words[0] == "check":
        if "--ran" in options:
            print_missing(now, ran)
        unseen = print_unseen_by_sanitizers(files)
        sys.exit(check(now, "--strict" in words) or unseen)
    if words[0] == "ran":
        print_missing(now, ran)
        sys.exit(1 if len(ran) < len(now) else 0)
    if "--gpu" not in options or "--date" not in options or options.get("--grade") not in GRADES:
        sys.exit(f"record needs --gpu NAME, --date YYYY-MM-DD and --grade, one of {', '.join(GRADES)}")
    print_missing(now, ran)
    record(now, ran, options["--grade"], options["--date"], options["--gpu"])


main()
