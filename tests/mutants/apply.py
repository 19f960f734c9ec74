#!/usr/bin/env python3
"""Applies every mutant's patch to one copy of the sources: apply.py ROOT OUTPUT PATCHES FILE...

ROOT holds the clean sources, PATCHES is a folder of NAME.patch, and each FILE, a path below ROOT, is written to the same
path below OUTPUT. The patches know nothing of each other: each is a diff against the clean sources. So all of them are
turned into edits of the clean file's lines first and then made together. A patch that does not fit is an error.
"""
import re
import sys
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

SWITCH = '#include "tests/mutants/mutant.hpp"\n'
HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+\d+(?:,\d+)? @@")


class Hunk(NamedTuple):
    mutant: str
    line: int  # where the clean file had it when the patch was made, from 0
    lines: list  # each with its sign: ' ', '-' or '+'

    def __str__(self):
        return f"{self.mutant}.patch, hunk at line {self.line + 1}"


class Edit(NamedTuple):
    at: int  # before this line of the clean file, from 0
    end: int  # the first line after it that stays
    new: list
    hunk: Hunk


def read_patch(path):
    """The hunks of a unified diff, by file."""
    hunks = defaultdict(list)
    file = hunk = None
    for line in path.read_text().splitlines(keepends=True):
        start = HUNK.match(line)
        if line.startswith("+++ b/"):
            file, hunk = line[len("+++ b/") :].strip(), None
        elif start and file:
            hunk = Hunk(path.stem, int(start[1]) - 1, [])
            hunks[file].append(hunk)
        elif hunk and line[0] in " -+" and not line.startswith("--- a/"):
            hunk.lines.append(line)
        elif not line.startswith("--- a/"):
            sys.exit(f"{path.name}: no line of a unified diff: {line.rstrip()}")
    if f"mutant(Mutant::{path.stem})" not in path.read_text():
        sys.exit(f"{path.name}: it does not ask for mutant(Mutant::{path.stem})")
    return hunks


def edits_of(hunk, file, clean):
    """What the hunk changes, at its place in the clean file: the nearest, if its lines are there more than once."""
    old = [line[1:] for line in hunk.lines if line[0] != "+"]
    places = [at for at in range(len(clean) - len(old) + 1) if clean[at : at + len(old)] == old]
    if not places:
        sys.exit(f"{hunk}: {file} has no such lines:\n{''.join(hunk.lines)}")
    at = min(places, key=lambda place: abs(place - hunk.line))
    edits = []
    before = " "
    for line in hunk.lines:
        if line[0] != " " and before == " ":
            edits.append(Edit(at, at, [], hunk))
        if line[0] == "+":
            edits[-1].new.append(line[1:])
        else:
            at += 1
            if line[0] == "-":
                edits[-1] = edits[-1]._replace(end=at)
        before = line[0]
    return edits


def patched(file, clean, hunks):
    edits = [edit for hunk in hunks for edit in edits_of(hunk, file, clean)]
    edits.sort(key=lambda edit: (edit.at, edit.end, edit.hunk.mutant))  # what only inserts comes first
    for first, second in zip(edits, edits[1:]):
        if second.at < first.end:
            sys.exit(f"{first.hunk} and {second.hunk} change the same lines of {file}")
    lines = list(clean)
    for edit in reversed(edits):
        lines[edit.at : edit.end] = edit.new
    return [SWITCH] + lines if edits else lines


def main(root, output, patches, *files):
    hunks = defaultdict(list)
    for path in sorted(Path(patches).glob("*.patch")):
        for file, found in read_patch(path).items():
            if file not in files:
                sys.exit(f"{path.name}: the simulator has no copy of {file}")
            hunks[file] += found
    for file in files:
        clean = (Path(root) / file).read_text().splitlines(keepends=True)
        text = "".join(patched(file, clean, hunks[file]))
        copy = Path(output) / file
        copy.parent.mkdir(parents=True, exist_ok=True)
        if not copy.exists() or copy.read_text() != text:  # what has not changed is not compiled again
            copy.write_text(text)


if __name__ == "__main__":
    main(*sys.argv[1:])
