"""Digests of what is too long to be kept, and what is written as bytes, with checksums.

Digests are hashlib's, which loads OpenSSL: that takes a tenth of the time of the package's own
import, and few calls need it. So it is imported when the first digest is asked for.
"""

from __future__ import annotations

import struct
import sys
import zlib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

__all__ = [
    "NO_GRAPH",
    "counts_of",
    "of_contents",
    "of_texts",
    "read_graph",
    "version_here",
    "with_checksum",
    "written_graph",
]


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


# --- recorded functions --------------------------------------------------------------------------

_HEADER = struct.Struct("<8s10Q")
_MAGIC = b"cadgrf03"
NO_GRAPH = "these are not the bytes of a recorded function"

# The dtypes of the parts, in the bytes and in memory: outputs; of guards the numbers, outcomes and
# whether they rest on equality; then those of CadGraphParts.
_PARTS: list[tuple[str, Any]] = [
    *(("<u4", np.uint32), ("<u4", np.uint32), ("<f8", np.float64), ("u1", np.uint8)),
    *(("<u4", np.uint32), ("<i8", np.int64), ("<u4", np.uint32), ("<f8", np.float64)),
]


def version_here() -> str:
    """The version of the package, for messages to people."""
    return getattr(sys.modules.get("cadiff"), "__version__", "unknown")


def written_graph(names: Iterable[str], counts: Sequence[int], parts: Iterable[Any]) -> bytes:
    """A header, a text, the parts, and a checksum; little-endian.

    The text is the version that writes it and the names of the operations, one a line. Counts:
    whether it is optimized, operations recorded, inputs, outputs, guards; rows, words, lists and
    constants.
    """
    text = "\n".join([version_here(), *names]).encode()
    written = [np.asarray(x, kind).tobytes() for x, (kind, _) in zip(parts, _PARTS, strict=True)]
    return with_checksum([_HEADER.pack(_MAGIC, len(text), *counts), text, *written])


def read_graph(given: bytes, operations: Sequence[str]) -> tuple[list[int], list[int], list[Any]]:
    """The counts, that of the text first; which of the operations are named; the parts."""
    if not isinstance(given, bytes):
        raise TypeError(f"expected the bytes of a recorded function, not {type(given).__name__}")
    anew = f"cadiff {version_here()}: compile the function anew"
    counts, room = counts_of(
        given, _HEADER, _MAGIC, NO_GRAPH, f"{NO_GRAPH} in the format of {anew}"
    )
    n_text, _, n_recorded, n_inputs, n_outputs, n_guards, n_rows, *others = counts
    lengths = [n_outputs, n_guards, n_guards, n_guards, 4 * n_rows, *others]
    ends = [_HEADER.size + n_text]
    for n, (kind, _) in zip(lengths, _PARTS, strict=True):
        ends.append(ends[-1] + n * np.dtype(kind).itemsize)
    if ends[-1] != _HEADER.size + room or not 1 <= n_inputs <= n_rows:
        raise ValueError(f"{NO_GRAPH}: its parts are not of the lengths it says")
    if n_recorded > sys.maxsize:
        raise ValueError(f"{NO_GRAPH}: it says that it has {n_recorded} operations")
    version, *names = given[_HEADER.size : ends[0]].decode().split("\n")
    codes = {name: code for code, name in enumerate(operations)}
    for name in names:
        if name not in codes:
            raise ValueError(
                f"a function that cadiff {version} recorded has an operation {name!r}, which "
                f"cadiff {version_here()} does not have: compile the function anew"
            )
    parts = [
        np.frombuffer(given, kind, n, begin).astype(native)
        for n, begin, (kind, native) in zip(lengths, ends[:-1], _PARTS, strict=True)
    ]
    return counts, [codes[name] for name in names], parts
