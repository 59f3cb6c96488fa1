"""The extension on Linux with arm64: linked by clang, and tested in an emulator of the processor.

    python -m tests.c.arm64 [OPTION OF PYTEST ...]

A system of its own is unpacked into `build/cross/arm64`, beside the one at hand: of Debian, whose
apt-get fetches packages for any processor, the version of Python that runs this; of the index,
wheels of what the tests import. Takes qemu's user-mode emulator, and pip.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

from .cross import QEMU
from .cross_extension import BUILT, ROOT, link, sources

PLACE = BUILT / "arm64"
SITE = PLACE / "site"
VERSION = "{}.{}".format(*sys.version_info)
SUFFIX = f"cpython-{VERSION.replace('.', '')}-aarch64-linux-gnu.so"
WHEELS = ("gmpy2", "hypothesis", "mpmath", "numpy", "pytest>=9", "scipy", "tqdm")
KINDS = ("manylinux_2_28_aarch64", "manylinux_2_17_aarch64", "manylinux2014_aarch64")
TRIED = ("transforms", "numerics/test_operations.py")
TRIED += tuple(f"binding/test_{name}.py" for name in ("arrays", "duals", "numbers"))

# What apt-get is told: nothing is installed yet, and all that it writes stands in one folder.
APT = """APT::Architecture "arm64";
#clear APT::Architectures;
APT::Architectures {{ "arm64"; }};
APT::Sandbox::User "root";
Dir::State "{place}/state";
Dir::State::status "{place}/status";
Dir::Cache "{place}/cache";
"""


def run(*command: str, **variables: str) -> None:
    subprocess.run(command, check=True, env=os.environ | variables)


def python() -> str:
    """An interpreter for arm64: a script that has the emulator run it, made once."""
    emulator = next(path for (name,) in QEMU if (path := shutil.which(name)))
    root = PLACE / "root"
    script = root / "usr" / "bin" / "python"
    if not script.exists():
        apt = PLACE / "apt"
        for folder in ("state/lists/partial", "cache/archives/partial"):
            (apt / folder).mkdir(parents=True, exist_ok=True)
        (apt / "status").touch()
        (apt / "conf").write_text(APT.format(place=apt), encoding="utf-8")
        fetched = ("install", "--yes", "--download-only", "--no-install-recommends")
        for words in (("update",), (*fetched, f"python{VERSION}", "libstdc++6")):
            run("apt-get", "--quiet=2", *words, APT_CONFIG=str(apt / "conf"))
        for package in (apt / "cache" / "archives").glob("*.deb"):
            run("dpkg-deb", "--extract", str(package), str(root))
        # Tests start it as `sys.executable`. Beside the program it runs Python finds its library.
        program = f'{emulator} -L {root} -0 "$0" {script}{VERSION}'
        script.write_text(f'#!/bin/sh\nexec {program} "$@"\n', encoding="utf-8")
        script.chmod(0o755)
    return str(script)


def install() -> None:
    """Put wheels for arm64, and the package with the linked extension, into one folder."""
    kinds = [word for kind in KINDS for word in ("--platform", kind)]
    options = (*kinds, "--python-version", VERSION, "--only-binary=:all:", "--target", str(SITE))
    if not SITE.exists():
        run(sys.executable, "-m", "pip", "install", "--quiet", *options, *WHEELS)
    # Of a new clone, in which nothing has been built.
    run(sys.executable, "-m", "setuptools_scm", "--force-write-version-files")
    package = SITE / "cadiff"
    shutil.rmtree(package, ignore_errors=True)
    shutil.copytree(ROOT / "cadiff", package, ignore=shutil.ignore_patterns("*.so"))
    shutil.copy(link("aarch64-linux-gnu", *sources()), package / "binding" / f"_core.{SUFFIX}")


def main(asked: list[str]) -> int:
    """Run what a wheel is tried by, and tests; answers whether something failed."""
    interpreter = python()
    install()
    failed = 0
    for words in (("cadiff", "--no-timing"), ("pytest", "-q", *(asked or TRIED))):
        command = (interpreter, "-m", *words)
        variables = os.environ | {"PYTHONPATH": str(SITE), "OPENBLAS_NUM_THREADS": "1"}
        failed |= subprocess.run(command, cwd=ROOT / "tests", env=variables).returncode
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
