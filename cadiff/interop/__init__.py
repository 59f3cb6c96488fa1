"""Seams to other packages, each imported when it is asked for: `import cadiff.interop.torch`.

`function(f)` (for PyTensor `op(f)`) makes of f, which is written for cadiff, a function of the
other package, with derivatives of all orders; `primitive(g)` makes of a function of the other
package an operation that cadiff differentiates through.
"""

from ..binding import foreign_names as _foreign_names


def __getattr__(name: str) -> object:
    _foreign_names.missing(__name__, name)
