"""Pipelines on machines that are not this one: packages, submission, and Kubernetes manifests."""

from penstock.deployment.helm import chart_files
from penstock.deployment.kubernetes import (
    DriverPod,
    manifests,
    object_name,
    referenced_variables,
)
from penstock.deployment.manifest import Manifest
from penstock.deployment.package import package_project, read_manifest
from penstock.deployment.submitting import (
    Mode,
    SubmitCommand,
    UnpackedPackage,
    client_command,
    cluster_command,
    open_package,
    prepare_client,
    submit_to_cluster,
)
from penstock.deployment.yaml_text import yaml_text

__all__ = [
    "DriverPod",
    "Manifest",
    "Mode",
    "SubmitCommand",
    "UnpackedPackage",
    "chart_files",
    "client_command",
    "cluster_command",
    "manifests",
    "object_name",
    "open_package",
    "package_project",
    "prepare_client",
    "read_manifest",
    "referenced_variables",
    "submit_to_cluster",
    "yaml_text",
]
