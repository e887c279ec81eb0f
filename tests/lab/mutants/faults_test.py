#!/usr/bin/env python3
"""The lists of planted faults are read as they are meant, and what does not fit is said."""
import re
import tempfile
import unittest
from pathlib import Path

from faults import HERE, PARTS, Fault, ListError, check, follow, parts_in, read_list
from run import cases_of

LIST = """# of sums
tests: tests_core tests_kernels

[sum-of-rest] sum.cpp
what: the rest is left out
- for (; i < n; ++i)
-   total += x[i];

[mean-of-one-more] sum.cpp
what: the mean divides by one more
tests: tests_nn
- total / n
+ total /
+   (n + 1)
"""
SOURCE = """double mean(int n) {
  for (; i < n; ++i)
    total += x[i];
  return total / n;
}
"""


class Lists(unittest.TestCase):
    def test_a_list_is_read(self) -> None:
        rest, more = read_list("core", LIST)
        self.assertEqual((rest.name, rest.file, rest.place), ("sum-of-rest", "sum.cpp", "core.txt:4"))
        self.assertEqual(rest.tests, ["tests_core", "tests_kernels"])
        self.assertEqual((rest.old, rest.new), (["for (; i < n; ++i)", "  total += x[i];"], []))
        self.assertEqual((more.tests, more.new), (["tests_nn"], ["total /", "  (n + 1)"]))

    def test_what_is_no_list_is_refused_with_its_place(self) -> None:
        for text in ["- an old line without a fault", "[name] file\n+ new before old", "[Name] file", "[a] b\nwhat: x\nwhat: y"]:
            with self.subTest(text), self.assertRaisesRegex(ListError, r"core\.txt:\d: what is"):
                read_list("core", text)

    def test_a_fault_is_planted_where_its_text_is_once(self) -> None:
        more = read_list("core", LIST)[1]
        self.assertEqual(more.planted(SOURCE), SOURCE.replace("total / n", "total /\n  (n + 1)"))
        for source in ["", SOURCE + SOURCE]:
            with self.assertRaisesRegex(ListError, "out of date"):
                more.planted(source)

    def test_every_fault_is_checked(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "sum.cpp").write_text(SOURCE)
            faults = read_list("core", LIST)
            # The first has two lines that stand farther in there: a list that is not exact is out of date.
            self.assertEqual(len(check(faults, Path(folder))), 1)
            faults[0].old[1] = "    total += x[i];"
            self.assertEqual(check(faults, Path(folder)), [])
            same = Fault("core", "same", "sum.cpp", "core.txt:9", "x", ["t"], ["total / n"], ["total / n"])
            missing = Fault("core", "same", "gone.cpp", "core.txt:10", "x", ["t"], ["a"], ["b"])
            wrong = check([same, missing, Fault("core", "empty", "sum.cpp", "core.txt:11")], Path(folder))
            for line, words in zip(wrong, ["changes nothing", "has the name of", "gone.cpp", "wants 'what:'"]):
                self.assertIn(words, line)
            self.assertEqual(len(wrong), 4)

    def test_a_fault_follows_its_text_to_another_file(self) -> None:
        here, moved, twice, gone = (Fault("core", name, "sum.cpp", f"core.txt:{i}", "x", ["t"], [old], ["b"])
                                    for i, (name, old) in enumerate([("here", "one"), ("moved", "two"), ("twice", "three"), ("gone", "four")]))
        sources = {"sum.cpp": "one", "mean.cpp": "one two three", "max.cpp": "three"}
        self.assertEqual(follow([here, moved, twice, gone], sources), {"core.txt:1": "mean.cpp"})
        self.assertEqual(follow([moved], {"mean.cpp": "two two"}), {})

    def test_every_list_of_the_folder_is_a_part(self) -> None:
        self.assertEqual(PARTS, parts_in(HERE))
        self.assertIn("html", PARTS)
        with tempfile.TemporaryDirectory() as folder:
            for name in ["one.txt", "two.txt", "faults.py", "two.md"]:
                Path(folder, name).write_text("")
            self.assertEqual(parts_in(Path(folder)), ["one", "two"])

    def test_only_single_cases_are_passed_over_once_their_program_has_run(self) -> None:
        done = re.compile(cases_of(["tests_apps", "tests_io"]))
        for case in ["tests_apps:eval: a table", "tests_io:csv", "tools: a script", "gpu: ledger of kernels"]:
            self.assertTrue(done.search(case), case)
        for other in ["tests_apps: eval end to end", "tests_data:csv", "bench: bench_step", "tests_ioctl:a"]:
            self.assertFalse(done.search(other), other)


if __name__ == "__main__":
    unittest.main()
