"""What goes wrong in the console."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.errors import Origin, PenstockError, UsageError

if TYPE_CHECKING:
    from pathlib import Path


class ConsolePortError(PenstockError):
    """Nothing can listen on the port for the console."""

    code = "PEN-770"

    def __init__(self, host: str, port: int, *, reason: str) -> None:
        super().__init__(
            f"the console cannot be served on `{host}:{port}`: {reason}",
            hint="set `console.port` to another; `0` takes any free one",
        )


class ConsoleUsersError(UsageError):
    """The file of users of the console cannot be understood."""

    code = "PEN-771"

    def __init__(self, path: Path, *, line: int | None, reason: str) -> None:
        super().__init__(
            f"`{path}` is not a file of users of the console: {reason}",
            hint=f"`penstock console user NAME --role viewer >> {path}` adds a line for a user",
            origin=Origin(path, line),
        )


class OpenConsoleError(UsageError):
    """The console would be open to everybody who reaches this machine."""

    code = "PEN-772"

    def __init__(self, host: str) -> None:
        super().__init__(
            f"the console on `{host}` would be open to everybody who reaches this machine",
            hint="set `console.users` to a file of `penstock console user` lines",
        )


class ConsoleCertificateError(UsageError):
    """The certificate and the key do not make a console that speaks HTTPS."""

    code = "PEN-773"

    def __init__(self, certificate: Path | None, key: Path | None, *, reason: str) -> None:
        super().__init__(
            f"HTTPS cannot be served with certificate `{certificate}` and key `{key}`: {reason}",
            hint="set `console.certificate` and `console.key` to PEM files that belong together",
        )


class NotFoundError(UsageError):
    """There is nothing at an address of the console."""

    code = "PEN-774"

    def __init__(self, path: str) -> None:
        super().__init__(f"there is no page `{path}`", hint="`/` is where all pages begin")


class NotAllowedError(UsageError):
    """The user's role does not allow what was asked."""

    code = "PEN-775"

    def __init__(self, name: str, *, role: str, needed: str) -> None:
        super().__init__(
            f"`{name}` is {_article(role)}, and this needs {_article(needed)}",
            hint="whoever keeps the console's file of users gives roles",
        )


class HiddenError(UsageError):
    """What was asked for is hidden from who asks."""


class OverloadedError(PenstockError):
    """The console does as much of this as it can; later it will do more."""


class NotLoggedInError(UsageError):
    """Nobody has said who asks, or not truly."""

    code = "PEN-776"

    def __init__(self) -> None:
        super().__init__(
            "who asks is not known",
            hint="log in at `/login`, or send `Authorization: Bearer TOKEN`",
        )


class NotMeantError(UsageError):
    """A request that changes something does not come from a page of this console."""

    code = "PEN-777"

    def __init__(self) -> None:
        super().__init__(
            "the form was not made by this console for this browser, or is out of date",
            hint="load the page again; programs send a token, or JSON where nobody logs in",
        )


class InvalidFormError(UsageError):
    """What was entered is not what is needed."""

    code = "PEN-778"

    def __init__(self, field: str, *, reason: str) -> None:
        super().__init__(f"`{field}`: {reason}", hint="change it and try again")


class UnknownHostError(UsageError):
    """A request was sent to a name that is not this machine's."""

    code = "PEN-779"

    def __init__(self, host: str) -> None:
        super().__init__(
            f"this console does not answer to `{host}`",
            hint="without users it answers to `127.0.0.1` and `localhost` only",
        )


class PlainConsoleError(UsageError):
    """Passwords would go over the network for everybody on the way to read."""

    code = "PEN-782"

    def __init__(self, host: str) -> None:
        super().__init__(
            f"the console on `{host}` would take passwords over plain HTTP",
            hint="set `console.certificate` and `console.key`; or, where a proxy serves HTTPS in "
            "front of it, `console.https_proxies` to its address",
        )


class TooLargeError(UsageError):
    """A request carries more than is read."""

    code = "PEN-783"

    def __init__(self, most: int) -> None:
        super().__init__(
            f"the request is larger than {most:,} bytes",
            hint="send less at once",
        )


class UnforeseenError(PenstockError):
    """Something that the console did not foresee."""

    code = "PEN-780"

    def __init__(self, error: Exception) -> None:
        super().__init__(
            f"this is a bug in Penstock: {type(error).__name__}",
            hint="please report it; the log of the console holds the traceback",
        )


def _article(role: str) -> str:
    return f"an {role}" if role[0] in "ao" else f"a {role}"
