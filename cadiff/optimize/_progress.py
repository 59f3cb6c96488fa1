"""Progress bars: how many evaluations there were, the value, and the norm of the gradient."""

from __future__ import annotations

from types import TracebackType
from typing import Any

import numpy as np


class Progress:
    """Shows nothing unless it is asked for."""

    def __init__(self, name: str, wanted: bool) -> None:
        self._bar: Any = None
        if wanted:
            try:
                from tqdm.auto import tqdm
            except ImportError as error:
                raise ImportError(
                    f"{name}(progress=True) shows a bar of tqdm, which is not installed here: "
                    "pip install tqdm"
                ) from error
            self._bar = tqdm(desc=name, unit=" evaluations")

    def show(self, value: Any, gradient: Any) -> None:
        """Note one evaluation; of several values show half the sum of their squares."""
        if self._bar is None:
            return
        values = np.asarray(value, dtype=np.float64)
        shown = {"f": f"{float(values) if values.size == 1 else 0.5 * np.sum(values**2):.6g}"}
        if gradient is not None:
            shown["|gradient|"] = f"{np.linalg.norm(gradient):.2e}"
        self._bar.set_postfix(shown, refresh=False)
        self._bar.update()

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.close()
