#!/usr/bin/env python3
"""What apply.py promises: patches compose, and one that does not fit is named."""
import tempfile
import unittest
from pathlib import Path

import apply

CLEAN = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n"


def patch(name, hunk, line=1):
    """A diff of src/a.cpp; $ in the hunk stands for the question whether it is this mutant's turn."""
    return f"--- a/src/a.cpp\n+++ b/src/a.cpp\n@@ -{line},3 +{line},4 @@\n" + hunk.replace("$", f"mutant(Mutant::{name})")


class Apply(unittest.TestCase):
    def applied(self, clean=CLEAN, **patches):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            (root / "src").mkdir()
            (root / "src/a.cpp").write_text(clean)
            for name, text in patches.items():
                (root / f"{name}.patch").write_text(text)
            apply.main(root, root / "copy", root, "src/a.cpp")
            return (root / "copy/src/a.cpp").read_text()

    def refused(self, **patches):
        with self.assertRaises(SystemExit) as refusal:
            self.applied(**patches)
        return str(refusal.exception)

    def test_a_file_without_a_mutant_is_copied_as_it_is(self):
        self.assertEqual(self.applied(), CLEAN)

    def test_insertions_at_the_same_place_stand_in_the_order_of_their_names(self):
        text = self.applied(b=patch("b", " one\n+$\n two\n"), a=patch("a", " one\n+$\n two\n"))
        self.assertEqual(text, apply.SWITCH + CLEAN.replace("two\n", "mutant(Mutant::a)\nmutant(Mutant::b)\ntwo\n"))

    def test_an_insertion_before_and_after_what_another_replaces(self):
        text = self.applied(
            a=patch("a", " one\n-two\n+$\n three\n"),
            b=patch("b", " one\n+before $\n two\n+after $\n three\n"),
        )
        expected = "before mutant(Mutant::b)\nmutant(Mutant::a)\nafter mutant(Mutant::b)\n"
        self.assertEqual(text, apply.SWITCH + CLEAN.replace("two\n", expected))

    def test_lines_that_moved_are_found_and_the_nearest_are_taken(self):
        text = self.applied("x\ny\n" * 4, a=patch("a", " x\n+$\n y\n", line=6))
        self.assertEqual(text, apply.SWITCH + "x\ny\n" * 2 + "x\nmutant(Mutant::a)\ny\n" + "x\ny\n")

    def test_a_patch_that_does_not_fit_is_named_with_its_hunk(self):
        said = self.refused(stale=patch("stale", " one\n+$\n three\n", line=12))
        self.assertIn("stale.patch, hunk at line 12: src/a.cpp has no such lines", said)

    def test_two_that_replace_the_same_line_are_both_named(self):
        said = self.refused(a=patch("a", "-two\n+$\n"), b=patch("b", " one\n-two\n-three\n+$\n"))
        self.assertIn("a.patch", said)
        self.assertIn("b.patch", said)

    def test_an_insertion_amid_what_another_replaces_is_refused(self):
        said = self.refused(a=patch("a", "-two\n-three\n+$\n"), b=patch("b", " two\n+$\n three\n"))
        self.assertIn("change the same lines of src/a.cpp", said)

    def test_a_patch_of_a_file_that_is_not_copied_is_refused(self):
        said = self.refused(a=patch("a", " one\n+$\n").replace("src/a.cpp", "src/b.cpp"))
        self.assertIn("a.patch: the simulator has no copy of src/b.cpp", said)

    def test_a_patch_under_another_name_is_refused(self):
        self.assertIn("b.patch", self.refused(b=patch("a", " one\n+$\n")))


if __name__ == "__main__":
    unittest.main()
