"""Digests of what is too long to be kept.

They are hashlib's, which loads OpenSSL: that takes a tenth of the time of the package's own
import, and few calls need it. So it is imported when the first digest is asked for.
"""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["of_contents", "of_texts"]


def of_contents(contents: bytes) -> bytes:
    """What tells some bytes from others, within this process."""
    import hashlib

    return hashlib.blake2b(contents).digest()


def of_texts(texts: Iterable[str]) -> str:
    """What tells some texts from others, in other processes too."""
    import hashlib

    digest = hashlib.sha256()
    for text in texts:
        digest.update(text.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()
