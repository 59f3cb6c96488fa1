"""Prints what stubtest is not to miss in stubs: names that say what to write instead of them.

Numbers and programs have them as attributes, none of which a checker of types shall find. They
are listed in cadiff/binding/foreign_names.py.
"""

import cadiff
from cadiff.binding.foreign_names import Absent

PLACES = {
    r"cadiff\.(binding\._core\.)?Var": cadiff.Var,
    r"cadiff\.(binding\._core\.)?Dual": cadiff.Dual,
    r"cadiff\.(programs\.program\.)?Program": cadiff.Program,
}

if __name__ == "__main__":
    for place, kind in PLACES.items():
        for name, part in vars(kind).items():
            if isinstance(part, Absent):
                print(rf"{place}\.{name}")
