"""Fingerprints of records without Spark: what its `xxhash64(key, value)` is, for many at a time.

XXH64 with Spark's seed; the hash of the key is the seed for the value, and what is null leaves the
hash as it is. Records of one length are hashed together, in columns of 64 bits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    Hashes = np.ndarray[tuple[int, ...], np.dtype[np.uint64]]

_SEED = 42
_STRIPE = 32
_P1 = np.uint64(0x9E3779B185EBCA87)
_P2 = np.uint64(0xC2B2AE3D27D4EB4F)
_P3 = np.uint64(0x165667B19E3779F9)
_P4 = np.uint64(0x85EBCA77C2B2AE63)
_P5 = np.uint64(0x27D4EB2F165667C5)


def fingerprint_of(keys: Sequence[bytes | None], values: Sequence[bytes | None]) -> int:
    """Return the fingerprint of records, whatever their order."""
    hashes = np.full(len(keys), _SEED, np.uint64)
    for column in (keys, values):
        _hash(hashes, column)
    return int(np.bitwise_xor.reduce(hashes))


def _hash(hashes: Hashes, column: Sequence[bytes | None]) -> None:
    """Replace `hashes`, which are the seeds, by those of what is in `column`."""
    by_length: dict[int, list[int]] = {}
    for index, item in enumerate(column):
        if item is not None:
            by_length.setdefault(len(item), []).append(index)
    for length, places in by_length.items():
        text = b"".join(column[index] or b"" for index in places)
        content = np.frombuffer(text, np.uint8).reshape(len(places), length)
        hashes[places] = _xxh64(content, hashes[places])


def _xxh64(content: np.ndarray[tuple[int, int], np.dtype[np.uint8]], seeds: Hashes) -> Hashes:
    """Return the hash of each row of bytes."""
    count, length = content.shape
    done = length - length % _STRIPE
    hashes = _stripes(_words(content[:, :done], 8), seeds) if done else seeds + _P5
    hashes = hashes + np.uint64(length)
    end = length - length % 8
    for word in _words(content[:, done:end], 8).T:
        hashes = _rotated(hashes ^ _round(np.zeros(count, np.uint64), word), 27) * _P1 + _P4
    if length - end >= 4:
        (word,) = _words(content[:, end : end + 4], 4).T
        hashes = _rotated(hashes ^ word * _P1, 23) * _P2 + _P3
        end += 4
    for byte in content[:, end:].T:
        hashes = _rotated(hashes ^ byte.astype(np.uint64) * _P5, 11) * _P1
    for bits, prime in ((33, _P2), (29, _P3)):
        hashes = (hashes ^ hashes >> np.uint64(bits)) * prime
    return hashes ^ hashes >> np.uint64(32)


def _stripes(words: Hashes, seeds: Hashes) -> Hashes:
    """Return what the whole stripes of four words come to."""
    p1, p2 = int(_P1), int(_P2)
    sums = seeds[:, None] + np.array([(p1 + p2) % 2**64, p2, 0, 2**64 - p1], np.uint64)
    for start in range(0, words.shape[1], 4):
        sums = _round(sums, words[:, start : start + 4])
    hashes = np.zeros(len(seeds), np.uint64)
    for column, bits in zip(sums.T, (1, 7, 12, 18), strict=True):
        hashes = hashes + _rotated(column, bits)
    for column in sums.T:
        hashes = (hashes ^ _round(np.zeros(len(seeds), np.uint64), column)) * _P1 + _P4
    return hashes


def _round(sums: Hashes, words: Hashes) -> Hashes:
    return _rotated(sums + words * _P2, 31) * _P1


def _rotated(hashes: Hashes, bits: int) -> Hashes:
    return hashes << np.uint64(bits) | hashes >> np.uint64(64 - bits)


def _words(content: np.ndarray[tuple[int, int], np.dtype[np.uint8]], width: int) -> Hashes:
    """Return the little-endian numbers of `width` bytes in each row."""
    rows = np.ascontiguousarray(content)
    return rows.view(f"<u{width}").reshape(len(rows), -1).astype(np.uint64)
