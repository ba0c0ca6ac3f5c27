"""Settings: where a value comes from, and the typed result the rest of Penstock works with.

Precedence: command line, environment (`PENSTOCK_<KEY>`), `penstock.toml` (the chosen profile, and
the other tables), defaults. Unknown keys and variables are errors that name
the nearest known one. A value may be written as `${env:NAME}` or `${file:PATH}`, so that secrets
stay out of the file. Relative paths in the file start at its folder.
"""

from penstock.settings.alerts import (
    AlertSettings,
    DeliverySettings,
    LogDelivery,
    MailDelivery,
    RuleSettings,
    TopicDelivery,
    WebhookDelivery,
)
from penstock.settings.errors import (
    InvalidSettingError,
    InvalidValue,
    MissingSettingError,
    SecretNotFoundError,
    SettingsFileError,
    UnknownProfileError,
    UnknownSettingError,
)
from penstock.settings.loading import FILE_NAME, MASK, find_settings_file, load_settings, shown_conf
from penstock.settings.masks import MaskSettings
from penstock.settings.model import (
    DEFAULT_PLATFORM,
    DEFAULT_PROFILE,
    DEFAULT_SCHEMAS_TOPIC,
    ClusterSettings,
    ConsoleSettings,
    JavaSettings,
    Location,
    PipelineSettings,
    PlatformSettings,
    RegistrySettings,
    Resolved,
    Setting,
    Settings,
    SparkSettings,
    default_cache_dir,
    default_data_dir,
    environment_variable,
    known_settings,
)
from penstock.settings.service_levels import Measure, ServiceLevel, shown_level
from penstock.settings.spark_conf import OWNED as OWNED_SPARK_SETTINGS

__all__ = [
    "DEFAULT_PLATFORM",
    "DEFAULT_PROFILE",
    "DEFAULT_SCHEMAS_TOPIC",
    "FILE_NAME",
    "MASK",
    "OWNED_SPARK_SETTINGS",
    "AlertSettings",
    "ClusterSettings",
    "ConsoleSettings",
    "DeliverySettings",
    "InvalidSettingError",
    "InvalidValue",
    "JavaSettings",
    "Location",
    "LogDelivery",
    "MailDelivery",
    "MaskSettings",
    "Measure",
    "MissingSettingError",
    "PipelineSettings",
    "PlatformSettings",
    "RegistrySettings",
    "Resolved",
    "RuleSettings",
    "SecretNotFoundError",
    "ServiceLevel",
    "Setting",
    "Settings",
    "SettingsFileError",
    "SparkSettings",
    "TopicDelivery",
    "UnknownProfileError",
    "UnknownSettingError",
    "WebhookDelivery",
    "default_cache_dir",
    "default_data_dir",
    "environment_variable",
    "find_settings_file",
    "known_settings",
    "load_settings",
    "shown_conf",
    "shown_level",
]
