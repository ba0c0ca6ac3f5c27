"""The same objects as a Helm chart: values become expressions, and their defaults `values.yaml`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from penstock.deployment.kubernetes import DriverPod, manifests
from penstock.deployment.manifest import penstock_version
from penstock.deployment.yaml_text import yaml_text

if TYPE_CHECKING:
    from penstock.deployment.yaml_text import Document


def chart_files(pod: DriverPod, *, app_version: str) -> dict[str, str]:
    """Return the files of the chart by their paths in its folder.

    Args:
        pod: gives the chart its name, and the values their defaults.
        app_version: the version of the project's code.
    """
    chart: Document = {
        "apiVersion": "v2",
        "name": pod.name,
        "description": f"The streaming pipeline {pod.name}, run by Penstock",
        "type": "application",
        "version": penstock_version(),
        "appVersion": app_version,
    }
    values: Document = {
        "image": pod.image,
        "profile": pod.profile,
        "secret": pod.secret,
        "executors": int(pod.executors),
    }
    templates = {
        f"templates/{name}": yaml_text(document)
        for name, document in manifests(_with_expressions(pod)).items()
    }
    return {"Chart.yaml": yaml_text(chart), "values.yaml": yaml_text(values), **templates}


def _with_expressions(pod: DriverPod) -> DriverPod:
    """Return `pod` with what an installation chooses left to Helm.

    Every expression stands for a text inside quotes or a block, so the templates are YAML as they
    are; the name of the release is the name of everything.
    """
    return replace(
        pod,
        name="{{ .Release.Name }}",
        namespace="{{ .Release.Namespace }}",
        image="{{ .Values.image }}",
        profile="{{ .Values.profile }}",
        secret="{{ .Values.secret }}",  # noqa: S106 - the name of one
        executors="{{ .Values.executors }}",
    )
