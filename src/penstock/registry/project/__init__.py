"""The schemas of a project: its files, and what they are to a registry."""

from penstock.registry.project.checking import (
    FileCheck,
    Finding,
    UnfitSchemasError,
    check_files,
    problems_with,
    versions_of,
)
from penstock.registry.project.comparing import compared_sides
from penstock.registry.project.files import (
    FOLDER,
    SUFFIXES,
    SchemaFile,
    SchemaFolderError,
    chosen,
    load_file,
    load_files,
    path_of,
    subject_of,
)
from penstock.registry.project.pulling import FileState, PulledFile, plan_pull, write_files
from penstock.registry.project.pushing import (
    Pushed,
    PushStoppedError,
    ensure_registrable,
    push,
)
from penstock.registry.project.references import FileGraph, FileReferencesError, graph_of
from penstock.registry.project.registration import register_file, text_with_versions

__all__ = [
    "FOLDER",
    "SUFFIXES",
    "FileCheck",
    "FileGraph",
    "FileReferencesError",
    "FileState",
    "Finding",
    "PulledFile",
    "PushStoppedError",
    "Pushed",
    "SchemaFile",
    "SchemaFolderError",
    "UnfitSchemasError",
    "check_files",
    "chosen",
    "compared_sides",
    "ensure_registrable",
    "graph_of",
    "load_file",
    "load_files",
    "path_of",
    "plan_pull",
    "problems_with",
    "push",
    "register_file",
    "subject_of",
    "text_with_versions",
    "versions_of",
    "write_files",
]
