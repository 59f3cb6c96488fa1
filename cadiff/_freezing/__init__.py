"""What PyInstaller asks the package for, by the entry point `pyinstaller40`."""

from __future__ import annotations

__all__ = ["hook_dirs"]


def hook_dirs() -> list[str]:
    """The folders with hooks: this one."""
    return [*__path__]
