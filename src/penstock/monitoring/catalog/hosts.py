"""What is measured of the machine that the sampling process runs on."""

from penstock.monitoring.catalog.metric import Metric, Unit, counter, gauge

HOST_LOAD = gauge(
    "penstock_host_load",
    Unit.COUNT,
    "Processes that run or wait for a processor or disk, as a mean of the last minute.",
    "host",
)
HOST_CORES = gauge("penstock_host_cores", Unit.COUNT, "Processors.", "host")
HOST_CPU = gauge(
    "penstock_host_cpu_ratio",
    Unit.RATIO,
    "Which share of all processors was busy since the look before.",
    "host",
)
HOST_MEMORY = gauge("penstock_host_memory_bytes", Unit.BYTES, "Memory that there is.", "host")
HOST_MEMORY_AVAILABLE = gauge(
    "penstock_host_memory_available_bytes",
    Unit.BYTES,
    "Memory that programs can have without others giving up theirs.",
    "host",
)
HOST_DISK = gauge(
    "penstock_host_disk_bytes", Unit.BYTES, "Size of the volume with our data.", "host"
)
HOST_DISK_USED = gauge(
    "penstock_host_disk_used_ratio", Unit.RATIO, "Which share of it is in use.", "host"
)
HOST_DISK_READ = counter(
    "penstock_host_disk_read_bytes_total", Unit.BYTES, "Bytes read from disks.", "host"
)
HOST_DISK_WRITTEN = counter(
    "penstock_host_disk_written_bytes_total", Unit.BYTES, "Bytes written to disks.", "host"
)
HOST_RECEIVED = counter(
    "penstock_host_received_bytes_total", Unit.BYTES, "Bytes received from networks.", "host"
)
HOST_SENT = counter("penstock_host_sent_bytes_total", Unit.BYTES, "Bytes sent to networks.", "host")

HOSTS: tuple[Metric, ...] = (
    HOST_LOAD,
    HOST_CORES,
    HOST_CPU,
    HOST_MEMORY,
    HOST_MEMORY_AVAILABLE,
    HOST_DISK,
    HOST_DISK_USED,
    HOST_DISK_READ,
    HOST_DISK_WRITTEN,
    HOST_RECEIVED,
    HOST_SENT,
)
