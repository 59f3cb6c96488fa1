"""Digests of what is too long to be kept, and checksums of what is written as bytes.

Digests are hashlib's, which loads OpenSSL: that takes a tenth of the time of the package's own
import, and few calls need it. So it is imported when the first digest is asked for.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable

__all__ = ["counts_of", "of_contents", "of_texts", "with_checksum"]


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


def with_checksum(parts: Iterable[bytes]) -> bytes:
    """A header and all that follows it, with a checksum at the end."""
    body = b"".join(parts)
    return body + zlib.crc32(body).to_bytes(4, "little")


def counts_of(
    given: bytes, header: struct.Struct, magic: bytes, complaint: str, outdated: str
) -> tuple[list[int], int]:
    """The counts in the header of bytes with a checksum, and the bytes between the two.

    A header begins with eight bytes, of which the last two are the version of the format. Bytes of
    another version raise ValueError with the text `outdated`, all others that are not as they were
    written with the complaint.
    """
    if given[:6] == magic[:6] and given[:8] != magic:
        raise ValueError(outdated)
    if len(given) < header.size + 4 or given[:8] != magic:
        raise ValueError(complaint)
    end = len(given) - 4
    if zlib.crc32(given[:end]).to_bytes(4, "little") != given[end:]:
        raise ValueError(f"{complaint}, or were damaged: the checksum is wrong")
    return list(header.unpack_from(given)[1:]), end - header.size
