"""Machine code on disk, kept by content in a folder of the user's: found, checked, made, loaded.

A library is named by a digest of its source, the compiler and its version, and the flags. Beside
it stands a digest of that and of its bytes. What does not fit, or could be of others, is made anew
and not loaded. Files come to their places whole; nobody waits for anybody.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import os
import shutil
import stat
import sys
import tempfile
import time
from pathlib import Path

from .compilers import FLAGS, NativeError, compile_shared, compiler_at_hand

MOST_BYTES = 256 << 20  # of all libraries; those that were not used for longest go first
_LONG_AGO = 24 * 3600.0  # seconds, after which what a process has left behind is cleared away
_ENDING, _DIGEST = ".so", ".sha256"
_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)

_loaded: dict[str, ctypes.CDLL] = {}  # for as long as the process: code may be running


def library_of(source: str) -> ctypes.CDLL:
    """The library that a file of C becomes; NativeError, if it cannot be had."""
    compiler = compiler_at_hand()
    parts = (source, *compiler.command, compiler.version, *FLAGS)
    key = hashlib.sha256("\0".join(parts).encode()).hexdigest()
    library = _loaded.get(key)
    if library is None:
        try:
            home = checked_folder()
            library = _kept(home, key) or _made(home, key, source)
        except OSError as error:
            raise NativeError(
                f"machine code cannot be kept in {folder()}, or loaded from there: {error}. Set "
                "CADIFF_CACHE to a folder of your own"
            ) from error
        _loaded[key] = library
    return library


# --- the folder ----------------------------------------------------------------------------------


def folder() -> Path:
    """Where libraries are kept: below CADIFF_CACHE, or where the system has the user's caches."""
    configured = os.environ.get("CADIFF_CACHE")
    if configured:
        return Path(configured).expanduser() / "native"
    home = Path.home()
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = home / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache")
    return base / "cadiff" / "native"


def checked_folder() -> Path:
    """The folder, made if need be; PermissionError, if others could write to it."""
    home = folder()
    home.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        home.mkdir(mode=0o700)
    state = home.lstat()
    if not stat.S_ISDIR(state.st_mode) or not _is_ours(state):
        raise PermissionError(f"{home} is no folder of this user's alone")
    around = home.parent.stat()
    if not (_is_ours(around) or around.st_mode & stat.S_ISVTX):  # others could exchange it
        raise PermissionError(f"{home.parent} can be changed by others")
    return home


def _is_ours(state: os.stat_result) -> bool:
    """Whether nobody else can write to it."""
    owner = getattr(os, "geteuid", lambda: state.st_uid)()
    return state.st_uid == owner and (os.name == "nt" or not state.st_mode & 0o022)


def contents() -> list[tuple[float, int, Path]]:
    """The libraries that are kept: when each was used last, its bytes, and its file."""
    files = []
    with contextlib.suppress(OSError):
        for path in folder().glob(f"*{_ENDING}"):
            with contextlib.suppress(FileNotFoundError):
                state = path.lstat()
                files.append((state.st_mtime, state.st_size, path))
    return sorted(files)


def clear() -> int:
    """Remove all that is kept; answers how many libraries there were."""
    files = contents()
    if files:
        home = checked_folder()
        for _, _, path in files:
            _remove(path)
        _clear_away(home, 0.0)
    return len(files)


def _remove(path: Path) -> None:
    for one in (path, path.with_suffix(_DIGEST)):
        with contextlib.suppress(FileNotFoundError):
            one.unlink()


def _clear_away(home: Path, age: float) -> None:
    """Remove what was being made so long ago."""
    for path in home.glob("tmp*"):
        with contextlib.suppress(FileNotFoundError):
            if path.lstat().st_mtime <= time.time() - age and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)


# --- libraries -----------------------------------------------------------------------------------


def _kept(home: Path, key: str) -> ctypes.CDLL | None:
    """The library of a key, if it is there as it was made."""
    path = home / f"{key}{_ENDING}"
    data, told = _read(path), _read(path.with_suffix(_DIGEST))
    if not data or told != _digest(key, data):
        return None
    with contextlib.suppress(OSError):
        os.utime(path)
        return ctypes.CDLL(str(path))
    return None


def _read(path: Path) -> bytes:
    """The bytes of a file that nobody else can write; else nothing."""
    try:
        with open(os.open(path, _FLAGS), "rb") as file:
            state = os.fstat(file.fileno())
            return file.read() if stat.S_ISREG(state.st_mode) and _is_ours(state) else b""
    except OSError:
        return b""


def _digest(key: str, made: bytes) -> bytes:
    return hashlib.sha256(f"cadiff {key}\n".encode() + made).hexdigest().encode()


def _made(home: Path, key: str, source: str) -> ctypes.CDLL:
    """The library of a source, made in a folder of its own, loaded, and then kept."""
    with tempfile.TemporaryDirectory(prefix="tmp", dir=home, ignore_cleanup_errors=True) as place:
        path = compile_shared(compiler_at_hand(), Path(place), source)
        path.chmod(0o700)
        library = ctypes.CDLL(str(path))
        digest = path.with_suffix(_DIGEST)
        digest.write_bytes(_digest(key, path.read_bytes()))
        digest.chmod(0o600)
        for one in (path, digest):
            os.replace(one, home / f"{key}{one.suffix}")
    _make_room(home)
    return library


def _make_room(home: Path) -> None:
    files = contents()
    excess = sum(size for _, size, _ in files) - MOST_BYTES
    for _, size, path in files:
        if excess <= 0:
            break
        _remove(path)
        excess -= size
    _clear_away(home, _LONG_AGO)
