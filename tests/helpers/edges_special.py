"""Where functions of `cadiff.scipy.special` end, blow up or change their formula.

A grid for each function: zero, the tiny and the huge, whole numbers, poles, both sides of them.
`DIFFICULT` names points at which SciPy, or a formula that looks right, is off.
This module knows nothing of cadiff.
"""

from __future__ import annotations

import zlib
from random import Random

from .cases_special import Point, line, points

REALS = [-700.0, -40.0, -3.0, -1.0, -0.5, -1e-5, -1e-17, -1e-300, 0.0, 1e-300, 1e-20, 1e-8, 1e-3]
REALS += [0.5, 1 - 1e-9, 1.0, 1 + 1e-9, 2.0, 10.5, 40.0, 700.0, 1e5, 1e10, 1e20, 1e100, 1e300]
POSITIVE = [1e-300, 1e-20, 1e-8, 1e-3, 0.5, 1.0, 2.0, 10.5, 40.0]
UNIT = [1e-300, 1e-20, 1e-8, 1e-3, 0.1, 0.5, 0.75, 0.999, 1 - 1e-9]
WHOLE = [-5.0, -2.5, -2.0, -1.0, -0.5, -1e-8, 0.0, 1e-8, 0.5, 1.0, 2.0, 3.0, 5.5, 10.0, 1e3, 1e8]
ORDERS = [-2.5, -1.0, 0.0, 1e-9, 0.5, 1.0, 2.7, 10.0]
POWERS = [-300.0, -3.0, -1.0, -1e-10, 0.0, 1e-300, 1e-9, 0.5, 1.0, 2.0, 30.0]
TURNS = [30.0, 45.0, 89.9999999, 120.0, 179.9999999, 200.0, 271.0, 1e-12, 1e-5, -1e-8, 1e20, 1e200]

EDGES: dict[str, tuple[Point, ...]] = {
    "erfc": line(*REALS[:20]),
    "erfcx": line(*REALS[3:]),
    "dawsn": line(*REALS[:22]),
    "ndtr": line(*REALS[1:20]),
    "log_ndtr": line(*REALS[:20]),
    "erfinv": line(*UNIT),
    "exprel": line(*REALS),
    "sindg": line(*TURNS),
    "cosdg": line(*TURNS),
    "tandg": line(*TURNS),
    "cotdg": line(*TURNS, 1e-300, 1e-20),
    "logit": line(*UNIT),
    "powm1": points([1e-300, 1e-3, 1.0, 1 + 1e-9, 3.0], [-2.0, -1e-10, 0.0, 0.5, 1.0, 2.0]),
    "boxcox": points([1e-300, 1e-5, 0.9, 1 - 1e-12, 1.0, 7.0, 1e100], POWERS),
    "boxcox1p": points([-1 + 1e-12, -0.9, -1e-9, 0.0, 1e-9, 3.0, 1e100], POWERS),
    "inv_boxcox": points([-100.0, -0.4, -1e-9, 0.0, 0.1, 3.0, 500.0], POWERS[1:]),
    "inv_boxcox1p": points([-0.4, -1e-9, 0.0, 0.1, 3.0, 500.0], POWERS[1:]),
    "rgamma": line(-160.5, -30.0, -29.9999999, *REALS[2:18], 170.0),
    "loggamma": line(1e-300, 1e-8, 1 - 1e-9, 1.0, 1 + 1e-9, 2 - 1e-9, 3.0, 1e10, 1e300),
    "beta": points([*WHOLE, -1.7], [*WHOLE, 0.3, 0.7]),
    "poch": points([*WHOLE, -5.5], [-5.0, -2.5, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 3.0, 8.5]),
    "binom": points([*WHOLE, 5.3, 25.0], [-3.0, -1.0, -0.5, 1e-9, 0.5, 2.0, 4.1, 24.0]),
    "gammainc": points([1e-3, 0.5, 1.0, 2.0, 3.0, 40.5], POSITIVE),
    "betainc": points([0.5, 1.0, 2.0, 40.5], [0.5, 1.0, 2.0, 3.5], UNIT),
    "j0": line(-3.0, 0.0, 1e-300, 1e-9, 20.0, 300.0),
    "jv": points(ORDERS, [1e-9, 0.1, 3.0, 20.0]),
    "iv": points(ORDERS, [1e-9, 0.1, 3.0, 20.0, 300.0, 700.0]),
    "ive": points(ORDERS, [1e-9, 0.1, 3.0, 20.0, 1e4, 1e10, 1e200]),
    "kve": points(ORDERS, [1e-9, 0.1, 3.0, 20.0, 1e4, 1e10]),
    "exp1": line(1e-300, 1e-9, 0.1, 1.0, 40.0, 600.0),
    "ellipk": line(-1e300, -1e20, -2.1, -2.0, -1e-9, 0.0, 1e-9, 0.5, 0.99, 1 - 1e-9, 1 - 2**-53),
    "ellipe": line(-1e300, -1e20, -2.1, -2.0, -1e-9, 0.0, 1e-9, 0.5, 0.99, 1 - 1e-9, 1 - 2**-53),
    "ellipkm1": line(1e-300, 1e-20, 0.4, 0.5, 1 - 1e-9, 1.0, 2.0, 3.0, 3.1, 1e20, 5e33, 1e140),
    "hyp0f1": points([0.5, 2.0, 1e5, 1e10], [-700.0, -1.0, 1e-300, 40.0, 1e5]),
    "hyp1f1": points([0.5, 30.0, 1000.0], [1.5, 30.0], [-100.0, -0.9, -1e-9, 0.5]),
    "kl_div": points([1e-300, 0.5, 1.0, 1e200], [1e-300, 1 - 1e-9, 1.0, 3.0, 1e100]),
    "pseudo_huber": points([1e-300, 0.5, 1e200], [-3.0, 1e-150, 1e-5, 1e150]),
    "stdtr": points([0.5, 3.0], [-1e100, -1e4, -1.0, 0.3, 7.0]),
    "kv": points([-2.5, 0.5, 1.5], [1e-9, 3.0, 700.0]),
    "wrightomega": line(-700.0, -20.0, -2.0, -1.0, 1e-300, 0.5, 1.0, 3.0, 100.0, 1e10, 1e100),
}

DIFFICULT: dict[str, tuple[Point, ...]] = {
    "exprel": line(1e20, -1e20, 41.0, 1000.0, 705.0),
    "boxcox": ((2.0, -1e20), (0.5, 1e20), (30.0, 1e5), (1e300, 1.5), (1e20, 30.0)),
    "boxcox1p": ((30.0, 1e5), (1e300, 1.5)),
    "inv_boxcox": ((1e5, 1e-300), (1e20, 1e-300)),
    "inv_boxcox1p": ((0.3, 0.0), (500.0, 1e-300), (3.0, 30.0)),
    "cotdg": line(1e-300, 1e-8, 179.9999999, 1e20),
    "tandg": line(89.9999999, 1e20),
    "beta": ((-0.5, 0.5), (2.0, -5.0), (-2.5, 1e-8), (-1.7, 0.7)),
    "poch": ((-5.0, 2.0), (-5.0, 8.5), (0.0, 3.0), (-5.5, 1e-9)),
    "binom": ((-0.5, 0.5), (1e-9, 10.0), (5.0, -1.0), (-2.5, -3.0), (-0.5, 1e-9), (-2.5, 1e-9)),
    "ellipkm1": line(1e-20, 5e33),
    "ellipe": line(1 - 2**-53),
    "hyp0f1": ((1e5, -700.0), (1.0, 1e10)),
    "hyp1f1": ((500.0, 1.5, -0.9), (-0.5, 3.0, -1e100)),
    "kl_div": ((1e200, 1e-300), (1 - 1e-9, 1.0)),
    "powm1": ((1e-300, -2.0),),
    "pseudo_huber": ((1e-300, 100.0), (2.0, 1e200)),
    "stdtr": ((0.5, -1e100), (1.0, -1e200), (1.0, -1e-8)),
    "kv": ((0.5, 700.0),),
    "iv": ((1e-9, 1e-9), (0.5, 1e-300)),
    "ive": ((1e-9, 1e-9), (1.0, 1e200)),
    "wrightomega": line(1e10),
    "gammainc": ((3.0, 1e-300),),
}

# Values of inverses next to the upper end of the domain.
QUANTILES = (
    (40.0, 0.5, 0.999),
    (40.0, 0.5, 0.5),
    (2.0, 0.5, 0.97),
    (0.5, 0.5, 0.3),
    (1.0, 2.0, 0.9),
)
INVERSES: dict[str, tuple[Point, ...]] = {"betaincinv": QUANTILES, "betainccinv": QUANTILES}


def sample(name: str, size: int) -> tuple[Point, ...]:
    """Some points of a grid, the same ones each time, after the difficult ones."""
    grid = list(EDGES[name])
    Random(zlib.crc32(name.encode())).shuffle(grid)
    return (*DIFFICULT.get(name, ()), *grid[:size])
