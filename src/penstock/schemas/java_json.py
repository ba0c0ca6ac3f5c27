"""JSON as Java's Jackson writes it: texts that Confluent's registry stores are compared by letter.

Against Python's, numbers with a fraction have Java's notation (`1.0E-4` for 0.0001), and escaped
control characters have capital digits.
"""

import json
import re
from decimal import Decimal

_CONTROL = re.compile(r"\\u00[01][0-9a-f]|\\.")


def java_json(value: object) -> str:
    """Return a JSON value without insignificant whitespace."""
    match value:
        case dict():
            members = [f"{_string(key)}:{java_json(item)}" for key, item in value.items()]
            return f"{{{','.join(members)}}}"
        case list():
            return f"[{','.join([java_json(item) for item in value])}]"
        case str():
            return _string(value)
        case float():
            return _double(value)
        case _:
            return json.dumps(value)


def _string(text: str) -> str:
    quoted = json.dumps(text, ensure_ascii=False)
    if "\\u" not in quoted:
        return quoted
    return _CONTROL.sub(lambda found: found[0][:2] + found[0][2:].upper(), quoted)


def _double(value: float) -> str:
    """Return a number as Java's `Double.toString` has it."""
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return format(Decimal(repr(value)), "f") if "e" in repr(value) else repr(value)
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    letters = "".join(map(str, digits))
    power = int(exponent) + len(digits) - 1
    return f"{'-' if sign else ''}{letters[0]}.{letters[1:] or '0'}E{power}"
