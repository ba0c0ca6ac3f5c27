"""A pipeline on Kubernetes: the objects that run its driver and let it start executors.

The driver is a pod of its own, in Spark's client mode: Kubernetes starts it again when it ends, and
its executors are pods that belong to it. The same functions describe plain manifests, with values,
and a Helm chart, with expressions in their place.

Secrets are named, never shown: a setting written as `${env:NAME}` becomes a variable whose value
Kubernetes takes from a Secret.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from penstock.deployment.yaml_text import Document

MASTER = "k8s://https://kubernetes.default.svc"
"""The API server as pods see it."""

PROJECT_FOLDER = "/opt/pipeline"
"""Where the image has the project."""

_DATA_FOLDER = "/var/lib/penstock"
_CONF_FOLDER = "/etc/penstock/spark"
_DRIVER_PORT, _BLOCKS_PORT, _HEALTH_PORT = 7078, 7079, 8090
_LONGEST_NAME = 50
"""Kubernetes allows 63 characters, and Spark adds to the names of executors."""

_PYTHON_MB = 1024
"""What the driver's pod needs beside the heap: Python, and what the JVM keeps outside."""

_STOP_SECONDS = 90
"""How long running batches may take to finish before the pod is killed."""

_ENVIRONMENT_REFERENCE = re.compile(r"\$\{env:(\w+)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverPod:
    """What differs from one pipeline, or one installation of a chart, to the next."""

    name: str
    namespace: str
    image: str
    profile: str
    secret: str
    """The Secret that holds the variables of `variables`."""

    variables: tuple[str, ...]
    """What the profile takes from the environment."""

    executors: str
    driver_memory_mb: int
    once: bool = False
    """Whether it reads what is there and ends, as a Job, or runs for good."""


def object_name(pipeline: str) -> str:
    """Return the name of a pipeline as Kubernetes allows it."""
    return re.sub(r"[^a-z0-9-]+", "-", pipeline.lower())[:_LONGEST_NAME].strip("-")


def referenced_variables(document: Mapping[str, Any], profile: str) -> tuple[str, ...]:
    """Return the variables that `penstock.toml` takes values from, for this profile."""
    profiles = document.get("profiles", {})
    used = {key: value for key, value in document.items() if key != "profiles"}
    texts = _texts([used, profiles.get(profile, {})])
    return tuple(sorted({name for text in texts for name in _ENVIRONMENT_REFERENCE.findall(text)}))


def manifests(pod: DriverPod) -> dict[str, Document]:
    """Return the objects of `pod` by the names of their files."""
    return {
        "serviceaccount.yaml": _service_account(pod),
        "role.yaml": _role(pod),
        "rolebinding.yaml": _role_binding(pod),
        "configmap.yaml": _config_map(pod),
        "service.yaml": _service(pod),
        "job.yaml" if pod.once else "deployment.yaml": _job(pod) if pod.once else _deployment(pod),
    }


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from _texts(list(value.values()))
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)


def _metadata(pod: DriverPod) -> dict[str, Document]:
    return {"name": pod.name, "namespace": pod.namespace, "labels": _labels(pod)}


def _labels(pod: DriverPod) -> dict[str, Document]:
    return {
        "app.kubernetes.io/name": pod.name,
        "app.kubernetes.io/component": "driver",
        "app.kubernetes.io/managed-by": "penstock",
    }


def _service_account(pod: DriverPod) -> dict[str, Document]:
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": _metadata(pod)}


def _role(pod: DriverPod) -> dict[str, Document]:
    """Let the driver start, watch and end executors, and nothing else."""
    verbs = ["create", "get", "list", "watch", "patch", "delete", "deletecollection"]
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": _metadata(pod),
        "rules": [
            {
                "apiGroups": [""],
                "resources": ["pods", "configmaps", "persistentvolumeclaims"],
                "verbs": verbs,
            },
        ],
    }


def _role_binding(pod: DriverPod) -> dict[str, Document]:
    subject = {"kind": "ServiceAccount", "name": pod.name, "namespace": pod.namespace}
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": _metadata(pod),
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": pod.name},
        "subjects": [subject],
    }


def _config_map(pod: DriverPod) -> dict[str, Document]:
    """Return Spark's defaults; what the profile sets in `spark.conf` wins over them."""
    defaults = {
        "spark.kubernetes.namespace": pod.namespace,
        "spark.kubernetes.container.image": pod.image,
        "spark.kubernetes.executor.podNamePrefix": pod.name,
        # Executors belong to the pod of the driver, and go when it does.
        "spark.kubernetes.driver.pod.name": "${env:POD_NAME}",
        "spark.executor.instances": pod.executors,
        "spark.driver.host": f"{pod.name}.{pod.namespace}.svc",
        "spark.driver.bindAddress": "0.0.0.0",  # noqa: S104 - the pod's own network
        "spark.driver.port": _DRIVER_PORT,
        "spark.driver.blockManager.port": _BLOCKS_PORT,
    }
    text = "".join(f"{key} {value}\n" for key, value in defaults.items())
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": _metadata(pod),
        "data": {"spark-defaults.conf": text},
    }


def _service(pod: DriverPod) -> dict[str, Document]:
    """Return the name under which executors find the driver, and others its health."""
    ports = {"driver": _DRIVER_PORT, "blocks": _BLOCKS_PORT, "health": _HEALTH_PORT}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": _metadata(pod),
        "spec": {
            "clusterIP": "None",
            # Executors must find a driver that waits for them to become ready.
            "publishNotReadyAddresses": True,
            "selector": {"app.kubernetes.io/name": pod.name},
            "ports": [
                {"name": name, "port": port, "targetPort": port} for name, port in ports.items()
            ],
        },
    }


def _deployment(pod: DriverPod) -> dict[str, Document]:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": _metadata(pod),
        "spec": {
            "replicas": 1,
            # One driver at a time: the old one ends before the new one starts.
            "strategy": {"type": "Recreate"},
            "selector": {"matchLabels": {"app.kubernetes.io/name": pod.name}},
            "template": _template(pod, restart="Always"),
        },
    }


def _job(pod: DriverPod) -> dict[str, Document]:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": _metadata(pod),
        "spec": {"backoffLimit": 3, "template": _template(pod, restart="Never")},
    }


def _template(pod: DriverPod, *, restart: str) -> dict[str, Document]:
    return {
        "metadata": {"labels": _labels(pod)},
        "spec": {
            "serviceAccountName": pod.name,
            "restartPolicy": restart,
            "terminationGracePeriodSeconds": _STOP_SECONDS,
            "containers": [_container(pod)],
            "volumes": [
                {"name": "spark-conf", "configMap": {"name": pod.name}},
                {"name": "data", "emptyDir": {}},
            ],
        },
    }


def _container(pod: DriverPod) -> dict[str, Document]:
    memory = f"{pod.driver_memory_mb + _PYTHON_MB}Mi"
    command = ["penstock", "run", PROJECT_FOLDER, "--profile", pod.profile, "--json"]
    probes: dict[str, Document] = {} if pod.once else _probes()
    return {
        "name": "driver",
        "image": pod.image,
        "command": [*command, *(["--once"] if pod.once else [])],
        "env": [*_variables(), *(_secret_variable(pod, name) for name in pod.variables)],
        "ports": [{"name": "health", "containerPort": _HEALTH_PORT}],
        **probes,
        "resources": {"requests": {"cpu": "500m", "memory": memory}, "limits": {"memory": memory}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [
            {"name": "spark-conf", "mountPath": _CONF_FOLDER, "readOnly": True},
            {"name": "data", "mountPath": _DATA_FOLDER},
        ],
    }


def _variables() -> list[Document]:
    fixed: dict[str, str] = {
        "PENSTOCK_SPARK_MASTER": MASTER,
        "PENSTOCK_PLATFORM_DATA_DIR": _DATA_FOLDER,
        # The kubelet asks from outside of the pod.
        "PENSTOCK_PIPELINE_HEALTH_HOST": "0.0.0.0",  # noqa: S104
        "PENSTOCK_PIPELINE_HEALTH_PORT": str(_HEALTH_PORT),
        "SPARK_CONF_DIR": _CONF_FOLDER,
    }
    pod_name: Document = {
        "name": "POD_NAME",
        "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}},
    }
    return [pod_name, *({"name": name, "value": value} for name, value in fixed.items())]


def _secret_variable(pod: DriverPod, name: str) -> Document:
    return {"name": name, "valueFrom": {"secretKeyRef": {"name": pod.secret, "key": name}}}


def _probes() -> dict[str, Document]:
    """Return how the kubelet asks: a pipeline that starts may take minutes on a busy node."""
    return {
        "startupProbe": _probe("/health", period_seconds=5, failures=60),
        "livenessProbe": _probe("/health", period_seconds=10, failures=6),
        "readinessProbe": _probe("/ready", period_seconds=5, failures=2),
    }


def _probe(path: str, *, period_seconds: int, failures: int) -> dict[str, Document]:
    return {
        "httpGet": {"path": path, "port": "health"},
        "periodSeconds": period_seconds,
        "timeoutSeconds": 3,
        "failureThreshold": failures,
    }
