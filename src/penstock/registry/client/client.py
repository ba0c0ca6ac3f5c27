"""The client of a registry, Penstock's or Confluent's: typed requests over HTTP.

An answer is told apart from no answer: `NotRegisteredError` is the registry's own word that
something is not there, `RegistryUnavailableError` says that nothing is known. Requests are not
repeated here; who can wait decides how long.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal, Self
from urllib.parse import quote

from penstock.names import Subject
from penstock.registry.client.answers import (
    CompatibilityAnswer,
    ContextIdAnswer,
    IdAnswer,
    ModeAnswer,
    SchemaAnswer,
    VersionAnswer,
    ids_from,
    parsed_answer,
    schemas_from,
    subjects_from,
)
from penstock.registry.client.errors import (
    NotARegistryError,
    NotRegisteredError,
    RegistryAccessError,
    RegistryUnavailableError,
    RequestRefusedError,
)
from penstock.schemas import Level, Resolved, Schema, parse

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    import httpx2
    from pydantic import SecretStr

    from penstock.schemas import Reference, RegisteredSchema, SchemaText

_ACCEPT = "application/vnd.schemaregistry.v1+json, application/json"
_MAX_REFERENCE_DEPTH = 100  # as deep as schemas may refer to each other before it is an error

Version = int | Literal["latest"]


class Mode(StrEnum):
    """What a subject, or the whole registry, accepts."""

    READWRITE = "READWRITE"
    READONLY = "READONLY"
    IMPORT = "IMPORT"


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryAddress:
    """Where a registry is, and how to prove who asks."""

    url: str
    username: str | None = None
    password: SecretStr | None = None
    ca: Path | None = None
    timeout_seconds: float = 10.0


_PAGE = 1_000
"""Registries answer with so many schemas at most."""


class RegistryClient:
    """Asks one registry. Threads may share it.

    Every method raises `RegistryUnavailableError`, `RegistryAccessError` or `NotARegistryError`
    when there is no answer to build on, and `RequestRefusedError` when the answer is no.
    """

    def __init__(self, address: RegistryAddress) -> None:
        import httpx2

        self.url = address.url.rstrip("/")
        password = address.password.get_secret_value() if address.password else ""
        try:
            self._http = httpx2.Client(
                auth=(address.username, password) if address.username else None,
                headers={"Accept": _ACCEPT},
                timeout=address.timeout_seconds,
                verify=_trusting(address.ca) if address.ca else True,
            )
        except (OSError, ValueError) as err:
            raise RegistryUnavailableError(url=self.url, reason=str(err)) from err
        self._schemas: dict[tuple[Subject, int], RegisteredSchema] = {}

    def __enter__(self) -> Self:
        """Return the client; leaving the block closes it."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the client."""
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def figures(self) -> str | None:
        """Return what the registry measures, as Prometheus reads it; None when it does not tell."""
        with self._answering():
            response = self._http.get(f"{self.url}/metrics")
        return response.text if response.status_code == 200 else None

    def subjects(self, *, deleted: bool = False) -> list[Subject]:
        """Return the subjects; with `deleted`, also those that were deleted softly."""
        answer = self._ask("GET", "/subjects", "the list of subjects", {"deleted": deleted})
        return subjects_from(answer, url=self.url)

    def latest_schemas(self, *, deleted: bool = False) -> list[RegisteredSchema]:
        """Return the latest version of every subject, a thousand with each request."""
        found: list[RegisteredSchema] = []
        while True:
            query = {"latestOnly": True, "deleted": deleted, "offset": len(found), "limit": _PAGE}
            answer = self._ask("GET", "/schemas", "the list of schemas", query)
            some = schemas_from(answer, url=self.url)
            found += some
            if len(some) < _PAGE:
                return found

    def versions(self, subject: Subject, *, deleted: bool = False) -> list[int]:
        """Return the versions of a subject.

        Raises:
            NotRegisteredError: there is no such subject.
        """
        path = f"{_subject_path(subject)}/versions"
        answer = self._ask("GET", path, f"subject `{subject}`", {"deleted": deleted})
        return ids_from(answer, url=self.url)

    def version(
        self,
        subject: Subject,
        version: Version = "latest",
        *,
        deleted: bool = False,
        serialized: bool = False,
    ) -> RegisteredSchema:
        """Return one version of a subject; `serialized` asks for Protobuf's descriptor in base64.

        Raises:
            NotRegisteredError: there is no such subject or version.
        """
        answer = self._ask(
            "GET",
            f"{_subject_path(subject)}/versions/{version}",
            f"version {version} of subject `{subject}`",
            {"deleted": deleted, **_format(serialized=serialized)},
        )
        return parsed_answer(VersionAnswer, answer, url=self.url).as_version()

    def kept_version(self, subject: Subject, version: int) -> RegisteredSchema:
        """Return a version, from memory if it was asked for before: versions never change."""
        known = self._schemas.get((subject, version))
        if known is None:
            known = self._schemas[subject, version] = self.version(subject, version, deleted=True)
        return known

    def schema_by_id(self, schema_id: int, *, serialized: bool = False) -> RegisteredSchema:
        """Return the schema of an id.

        Raises:
            NotRegisteredError: there is no schema of this id.
        """
        path, query = f"/schemas/ids/{schema_id}", _format(serialized=serialized)
        answer = self._ask("GET", path, f"schema id {schema_id}", query)
        return parsed_answer(SchemaAnswer, answer, url=self.url).registered(schema_id)

    def find_by_id(self, schema_id: int, *, serialized: bool = False) -> RegisteredSchema | None:
        """Return the schema of an id, or None: the registry says that there is none."""
        try:
            return self.schema_by_id(schema_id, serialized=serialized)
        except NotRegisteredError:
            return None

    def subjects_of_id(self, schema_id: int) -> list[Subject]:
        """Return the subjects that have a schema, deleted ones too; none if there is no such id."""
        path = f"/schemas/ids/{schema_id}/subjects"
        try:
            answer = self._ask("GET", path, f"schema id {schema_id}", {"deleted": True})
        except NotRegisteredError:
            return []
        return subjects_from(answer, url=self.url)

    def id_of_guid(self, guid: str) -> int | None:
        """Return the id of the schema that a record's header names by its GUID, or None."""
        try:
            path = f"/schemas/guids/{quote(guid, safe='')}/ids"
            answer = self._ask("GET", path, f"schema GUID {guid}")
        except NotRegisteredError:
            return None
        found = parsed_answer(list[ContextIdAnswer], answer, url=self.url)
        return next((item.id for item in found), None)

    def find(
        self, subject: Subject, schema: SchemaText, *, normalize: bool = False
    ) -> RegisteredSchema | None:
        """Return the version of `subject` that is this schema, or None."""
        path, what = _subject_path(subject), f"a schema of subject `{subject}`"
        try:
            answer = self._send("POST", path, what, schema, {"normalize": normalize})
        except NotRegisteredError:
            return None
        return parsed_answer(VersionAnswer, answer, url=self.url).as_version()

    def register(self, subject: Subject, schema: SchemaText, *, normalize: bool = False) -> int:
        """Register a schema as the next version of a subject, and return its id.

        A schema that the subject already has keeps its version and id.

        Raises:
            RequestRefusedError: it is not compatible, or the subject accepts nothing.
        """
        path = f"{_subject_path(subject)}/versions"
        what = f"a schema for subject `{subject}`"
        answer = self._send("POST", path, what, schema, {"normalize": normalize})
        return parsed_answer(IdAnswer, answer, url=self.url).id

    def delete_subject(self, subject: Subject, *, permanent: bool = False) -> list[int]:
        """Delete all versions of a subject; permanently only after a soft delete."""
        answer = self._ask(
            "DELETE", _subject_path(subject), f"subject `{subject}`", {"permanent": permanent}
        )
        return ids_from(answer, url=self.url)

    def delete_version(self, subject: Subject, version: int, *, permanent: bool = False) -> None:
        """Delete one version of a subject; permanently only after a soft delete."""
        path = f"{_subject_path(subject)}/versions/{version}"
        self._ask("DELETE", path, f"version {version} of `{subject}`", {"permanent": permanent})

    def level(self, subject: Subject | None = None) -> Level:
        """Return the level that counts for `subject`; without one, the registry's own."""
        query = {"defaultToGlobal": True} if subject else {}
        answer = self._ask("GET", _scope_path("config", subject), "the compatibility level", query)
        return parsed_answer(CompatibilityAnswer, answer, url=self.url).level

    def set_level(self, subject: Subject | None, level: Level) -> None:
        """Set the level of a subject, or of the registry."""
        body = {"compatibility": level.value}
        self._ask("PUT", _scope_path("config", subject), f"the level {level}", body=body)

    def clear_level(self, subject: Subject | None) -> None:
        """Let the registry's level count for the subject again; without one, the default."""
        self._ask("DELETE", _scope_path("config", subject), f"a level of {_scope(subject)}")

    def mode(self, subject: Subject | None = None) -> Mode:
        """Return the mode that counts for `subject`; without one, the registry's own."""
        query = {"defaultToGlobal": True} if subject else {}
        answer = self._ask("GET", _scope_path("mode", subject), "the mode", query)
        return Mode(parsed_answer(ModeAnswer, answer, url=self.url).mode)

    def set_mode(self, subject: Subject | None, mode: Mode, *, force: bool = False) -> None:
        """Set the mode of a subject, or of the registry; IMPORT needs an empty one, or force."""
        path = _scope_path("mode", subject)
        self._ask("PUT", path, f"the mode {mode}", {"force": force}, {"mode": mode.value})

    def clear_mode(self, subject: Subject) -> None:
        """Let the registry's mode count for the subject again."""
        self._ask("DELETE", _scope_path("mode", subject), f"a mode of {_scope(subject)}")

    def resolved(self, references: Sequence[Reference]) -> tuple[Resolved, ...]:
        """Return `references` with the texts they stand for, at any depth."""
        return self._resolved(references, _MAX_REFERENCE_DEPTH)

    def parsed(self, schema: RegisteredSchema) -> Schema:
        """Return a registered schema ready to be compared."""
        references = self.resolved(schema.references)
        return parse(schema.type, schema.text, references, stored=True)

    def _resolved(self, references: Sequence[Reference], depth: int) -> tuple[Resolved, ...]:
        if references and not depth:
            reason = f"schemas refer to each other more than {_MAX_REFERENCE_DEPTH} levels deep"
            raise NotARegistryError(url=self.url, found=reason)
        found = []
        for reference in references:
            schema = self.kept_version(Subject(reference.subject), reference.version)
            inner = self._resolved(schema.references, depth - 1)
            found.append(Resolved(name=reference.name, text=schema.text, references=inner))
        return tuple(found)

    def _send(
        self,
        method: str,
        path: str,
        what: str,
        schema: SchemaText,
        query: Mapping[str, object] | None = None,
    ) -> Any:  # noqa: ANN401 - JSON, checked by whoever asked
        references = [
            {"name": item.name, "subject": item.subject, "version": item.version}
            for item in schema.references
        ]
        body = {"schema": schema.text, "schemaType": schema.type.value, "references": references}
        return self._ask(method, path, what, query, body)

    def _ask(
        self,
        method: str,
        path: str,
        what: str,
        query: Mapping[str, object] | None = None,
        body: object = None,
    ) -> Any:  # noqa: ANN401 - JSON, checked by whoever asked
        """Return the JSON of the answer; `what` names what is asked for, in errors."""
        with self._answering():
            response = self._http.request(
                method,
                f"{self.url}{path}",
                params={name: _parameter(value) for name, value in (query or {}).items()},
                json=body,
            )
        if response.is_success:
            return self._json(response)
        raise self._fault(response, what)

    @contextmanager
    def _answering(self) -> Iterator[None]:
        import httpx2

        try:
            yield
        except (httpx2.HTTPError, httpx2.InvalidURL) as err:
            reason = str(err) or type(err).__name__
            raise RegistryUnavailableError(url=self.url, reason=reason) from err

    def _json(self, response: httpx2.Response) -> object:
        try:
            answer: object = response.json()
        except ValueError as err:
            found = f"HTTP status {response.status_code} with {_kind(response)}"
            raise NotARegistryError(url=self.url, found=found) from err
        return answer

    def _fault(self, response: httpx2.Response, what: str) -> Exception:
        """Return the error for an answer that is not a success."""
        status = response.status_code
        if status in (401, 403):
            return RegistryAccessError(url=self.url, status=status)
        if status >= 500 or status in (408, 429):
            return RegistryUnavailableError(url=self.url, reason=_told(response))
        answer = self._json(response)
        code = answer.get("error_code") if isinstance(answer, dict) else None
        if not isinstance(code, int):
            # A proxy's 404 says nothing about schemas.
            found = f"HTTP status {status} without an error code"
            return NotARegistryError(url=self.url, found=found)
        if status == 404:
            return NotRegisteredError(what, url=self.url, answer=_told(response))
        return RequestRefusedError(what, url=self.url, error_code=code, answer=_told(response))


def _trusting(ca: Path) -> Any:  # noqa: ANN401 - an `ssl.SSLContext`, imported when it is needed
    import ssl

    return ssl.create_default_context(cafile=str(ca))


def _subject_path(subject: Subject) -> str:
    return f"/subjects/{quote(subject, safe='')}"


def _scope_path(noun: str, subject: Subject | None) -> str:
    return f"/{noun}/{quote(subject, safe='')}" if subject else f"/{noun}"


def _scope(subject: Subject | None) -> str:
    return f"subject `{subject}`" if subject else "the registry"


def _format(*, serialized: bool) -> dict[str, object]:
    return {"format": "serialized"} if serialized else {}


def _parameter(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _kind(response: httpx2.Response) -> str:
    return response.headers.get("content-type") or "no content type"


def _told(response: httpx2.Response) -> str:
    """Return what the answer says about itself."""
    try:
        answer = response.json()
    except ValueError:
        answer = None
    message = answer.get("message") if isinstance(answer, dict) else None
    return str(message) if message else f"HTTP status {response.status_code}"
