"""``python -m benchmarks.history FOLDER PAGE.html``: costs from run to run.

FOLDER has what `pytest benchmarks --benchmark-json` writes, a file for each run. A line is a way
of doing a work, in multiples of the first way of the same run, which is the plain computation: so
runs on different machines can stand beside each other. Files of `python -m benchmarks.building
json` are drawn in one more picture, in multiples of the first one. The page is one file, pictures
and all.
"""

from __future__ import annotations

import argparse
import io
import json
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

HEAD = """\
<!doctype html><html lang="en"><meta charset="utf-8">
<meta name="viewport" content="width=device-width"><title>cadiff: costs from run to run</title>
<style>body {{ font-family: sans-serif; max-width: 70rem; margin: auto }} svg {{ width: 32% }}
@media (max-width: 50rem) {{ svg {{ width: 100% }} }}</style>
<h1>Costs from run to run</h1>
<p>Least times in multiples of the plain computation ({first} to {last}, {n} runs).</p>
"""


SIZES = "sizes"


class Run(NamedTuple):
    """The ratios of a run, by works and ways."""

    commit: str
    ratios: dict[str, dict[str, float]]


def read(text: str) -> Run:
    """A run, of what pytest-benchmark has written.

    Raises ValueError where the text is of something else.
    """
    ratios: dict[str, dict[str, float]] = {}
    reference: dict[str, float] = {}
    try:
        content: dict[str, Any] = json.loads(text)
        commit = f"{content['commit_info']['time'][:10]} {content['commit_info']['id'][:8]}"
        if "sizes" in content:
            return Run(commit, {SIZES: content["sizes"]})
        for one in content["benchmarks"]:
            work, least = one["group"], one["stats"]["min"]
            if work is not None:  # else it has nothing beside it
                first = reference.setdefault(work, least)
                ratios.setdefault(work, {})[one["params"]["name"]] = least / first
        return Run(commit, ratios)
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError("no JSON of `pytest benchmarks --benchmark-json`") from error


def picture(work: str, runs: Sequence[Run]) -> str:
    """A plot of a work, as SVG."""
    figure = Figure(figsize=(5, 3), layout="constrained")
    FigureCanvasSVG(figure)
    axes = figure.subplots()
    runs = [run for run in runs if work in run.ratios]
    ways = dict.fromkeys(way for run in runs for way in run.ratios[work])
    for way in ways:
        ratios = [run.ratios[work].get(way, float("nan")) for run in runs]
        if work == SIZES:
            ratios = [size / next(filter(None, ratios)) for size in ratios]
        axes.plot(range(len(runs)), ratios, ".-", label=way)
    axes.set(title=work, yscale="log", xticks=(0, len(runs) - 1))
    axes.set_xticklabels([runs[0].commit, runs[-1].commit], fontsize="small")
    axes.legend(fontsize="small")
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None})
    return "<svg" + text.getvalue().partition("<svg")[2]


def page(runs: Sequence[Run]) -> str:
    """All works that a run has, one after the other."""
    works = dict.fromkeys(work for run in runs for work in run.ratios)
    head = HEAD.format(first=escape(runs[0].commit), last=escape(runs[-1].commit), n=len(runs))
    return head + "".join(picture(work, runs) for work in works) + "</html>\n"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("page", type=Path)
    options = parser.parse_args(arguments)
    runs = sorted(read(path.read_text(encoding="utf-8")) for path in options.folder.glob("*.json"))
    if not runs:
        parser.error(f"{options.folder} has no files of pytest-benchmark (*.json)")
    options.page.write_text(page(runs), encoding="utf-8")


if __name__ == "__main__":
    main()
