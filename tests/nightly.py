"""All checks that there are, one after the other, with one report: `nox -s nightly`.

    nox -s nightly                      what is not done yet of this commit
    nox -s nightly -- --seed 7          with other examples, cases, bytes and faults
    nox -s nightly -- --only suite      parts whose names this pattern is found in, again
    nox -s nightly -- --list            the parts

A part is a session of nox with its options. What it came to is kept at once in `build/nightly`, or
the folder that CADIFF_NIGHTLY names, for the commit and the seed: a run that was stopped goes on
where it was, and `--only` repeats a part with the same seed. `report.md` in that folder says what
ran, what it counted, and how long it took; `NAME.log` all that a part printed. The exit code is 1
if a part failed. Random choices follow from the seed, 1 by default; how far those parts get that
look for a number of seconds depends on the machine, too.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
SKIPPED = "skipped"
# The last of these in what a part prints says what it counted.
COUNTS = re.compile(
    r"^.*?(?:=+ )?(\d[\d,]* (?:passed|failed|pass)\b.*?)(?: =+)?$"
    r"|^.*?(\d[\d,]* cases\b.*)$|^.*?(in all +\d+ of \d+)$|^.*?(\d[\d,]* executions\b.*)$",
    re.MULTILINE,
)


class Part(NamedTuple):
    """A session of nox, for each of its Pythons, and its options; {seed} stands for the seed."""

    session: str
    options: tuple[str, ...] = ()
    minutes: int = 60  # after which it is ended


PARTS = [
    Part("lint"),
    Part("examples"),
    Part("oldest", ("--one-in", "1")),
    Part("suite", ("-p", "no:cacheprovider"), 180),
    Part("sanitize_all", (), 180),
    Part("debug", (), 120),
    Part("explore", ("--hypothesis-seed={seed}",)),
    Part("search", ("--seed", "{seed}", "--seconds", "900"), 40),
    Part("faults", ("--all", "40", "--seed", "{seed}", "--jobs", "2"), 120),
    Part("fuzz", ("--seconds", "900", "--seed", "{seed}"), 40),
    Part("guide"),
    Part("figures"),
    Part("cross"),
    Part("arm64"),
    Part("frozen"),
    Part("scipy_optimize"),
    Part("array_api"),
    Part("real_programs"),
    Part("seams"),
    Part("successors"),
]


def printed(*command: str) -> str:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    return done.stdout.strip()


def each_python(parts: list[Part]) -> list[Part]:
    """The parts, one for each Python that a session has."""
    names = [part.session for part in parts]
    listed = json.loads(printed(sys.executable, "-m", "nox", "--list", "--json", "-s", *names))
    return [
        part._replace(session=one["session"])
        for part in parts
        for one in listed
        if one["name"] == part.session
    ]


def run(part: Part, seed: int, log: Path) -> dict[str, Any]:
    """Run a part; what came of it."""
    options = [option.format(seed=seed) for option in part.options]
    command = [sys.executable, "-m", "nox", "-s", part.session, "--", *options]
    begun = time.monotonic()
    with log.open("w", encoding="utf-8") as file:
        process = subprocess.Popen(
            command, cwd=ROOT, stdout=file, stderr=file, start_new_session=True
        )
        try:
            failed = process.wait(timeout=60 * part.minutes) != 0
        except subprocess.TimeoutExpired:
            failed = True
            file.write(f"ended after {part.minutes} minutes\n")
        finally:
            if process.poll() is None:
                os.killpg(process.pid, 9)
                process.wait()
    text = log.read_text(encoding="utf-8", errors="replace")
    counts = [next(filter(None, found)).strip() for found in COUNTS.findall(text)]
    reasons = re.findall(r"^nox > Session \S+ skipped: (.*)$", text, re.MULTILINE)
    status = "failed" if failed else SKIPPED if reasons and not counts else "passed"
    return {
        "status": status,
        "seconds": round(time.monotonic() - begun),
        "counts": reasons if status == SKIPPED else counts[-12:],
        "options": options,
        "began": time.strftime(
            "%Y-%m-%d %H:%M", time.gmtime(time.time() - time.monotonic() + begun)
        ),
    }


def report(commit: str, seed: int, parts: list[Part], done: dict[str, dict[str, Any]]) -> str:
    """The table of all parts, those that have not run among them."""
    seconds = sum(one["seconds"] for one in done.values())
    lines = [
        f"# Nightly run of {commit}, seed {seed}",
        "",
        f"{len(done)} of {len(parts)} parts, {seconds:,} seconds, {os.cpu_count()} cores, "
        f"Python {sys.version.split()[0]}",
        "",
        "| part | options | came to | counted | seconds | began (UTC) |",
        "|---|---|---|---|---|---|",
    ]
    for part in parts:
        one = done.get(part.session)
        if one is None:
            lines.append(f"| {part.session} | | not run yet | | | |")
            continue
        options, counts = " ".join(one["options"]), "; ".join(one["counts"])
        lines.append(
            f"| {part.session} | {options} | {one['status']} | {counts} | {one['seconds']:,} "
            f"| {one['began']} |"
        )
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(prog="nox -s nightly --", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--seed", type=int, default=1, help="a number: 1")
    parser.add_argument("--only", default="", metavar="PATTERN", help="run these parts, again")
    parser.add_argument("--list", action="store_true", help="print the parts, run nothing")
    chosen = parser.parse_args()
    everything = each_python(PARTS)
    parts = [part for part in everything if re.search(chosen.only, part.session)]
    if chosen.list:
        print(*(" ".join((part.session, *part.options)) for part in parts), sep="\n")
        return 0
    commit = printed("git", "rev-parse", "--short=12", "HEAD")
    if printed("git", "status", "--porcelain", "--untracked-files=no"):
        commit += "-changed"
    kept = Path(os.environ.get("CADIFF_NIGHTLY", ROOT / "build" / "nightly"))
    place = kept / f"{commit}-{chosen.seed}"
    place.mkdir(parents=True, exist_ok=True)
    state = place / "state.json"
    done: dict[str, dict[str, Any]] = json.loads(state.read_text()) if state.exists() else {}
    for part in parts:
        if part.session in done and not chosen.only:
            continue
        print(f"{part.session} ...", flush=True)
        done[part.session] = run(
            part, chosen.seed, place / f"{re.sub('[^a-z0-9_.-]+', '-', part.session)}.log"
        )
        print("    {status}, {seconds} s: {counts}".format(**done[part.session]), flush=True)
        new = state.with_suffix(".new")
        new.write_text(json.dumps(done, indent=1))
        new.replace(state)
        (place / "report.md").write_text(report(commit, chosen.seed, everything, done))
        for made in (ROOT / ".nox").glob(f"{part.session.partition('-')[0]}*"):
            shutil.rmtree(made, ignore_errors=True)  # some have gigabytes
    print(f"\n{report(commit, chosen.seed, everything, done)}\n{place / 'report.md'}")
    return int(any(one["status"] == "failed" for one in done.values()))


if __name__ == "__main__":
    sys.exit(main())
