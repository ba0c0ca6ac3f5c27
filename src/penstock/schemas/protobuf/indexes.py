"""Message indexes: how records in the registry's wire format say which message they hold.

They are the index of the message in its file, after that of each message around it. `[0]`, the
first message, is a single zero byte; any other list is its length and its numbers, each as a
zig-zag varint. They stand between the schema id and the message.
"""

from collections.abc import Sequence

from penstock.schemas.protobuf.errors import MessageIndexesError

MAX_INDEX_DEPTH = 100
"""Messages in each other: more than protoc accepts, fewer than wrong bytes could claim."""

MAX_NUMBER_BYTES = 5
"""Of a varint with 32 bits."""


def encode_indexes(indexes: Sequence[int]) -> bytes:
    """Return what stands between the schema id of a record and its message."""
    if tuple(indexes) == (0,):
        return b"\x00"
    return b"".join(_varint(number << 1) for number in (len(indexes), *indexes))


def decode_indexes(data: bytes) -> tuple[tuple[int, ...], int]:
    """Return the indexes that `data` begins with, and how many bytes they take.

    Raises:
        MessageIndexesError: it does not begin with indexes.
    """
    count, position = _read_number(data, 0)
    if count == 0:
        return (0,), position
    if count > MAX_INDEX_DEPTH:
        raise MessageIndexesError(reason=f"it claims {count:,} of them")
    indexes = []
    for _ in range(count):
        number, position = _read_number(data, position)
        indexes.append(number)
    return tuple(indexes), position


def _varint(number: int) -> bytes:
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def _read_number(data: bytes, position: int) -> tuple[int, int]:
    """Return a number that is not negative, and the position behind it."""
    number = shift = 0
    for at in range(position, min(position + MAX_NUMBER_BYTES, len(data))):
        number |= (data[at] & 0x7F) << shift
        shift += 7
        if data[at] < 0x80:
            if number & 1:
                break
            return number >> 1, at + 1
    raise MessageIndexesError(reason=f"byte {position} begins no number")
