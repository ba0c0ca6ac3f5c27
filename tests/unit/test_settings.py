"""Where values come from, and what happens to those that cannot be."""

from pathlib import Path

import pytest
from pydantic import SecretStr

from penstock.errors import UsageError
from penstock.names import PipelineName
from penstock.settings import (
    InvalidSettingError,
    InvalidValue,
    Location,
    MaskSettings,
    Measure,
    MissingSettingError,
    PipelineSettings,
    RegistrySettings,
    Resolved,
    SecretNotFoundError,
    ServiceLevel,
    Settings,
    SettingsFileError,
    SparkSettings,
    UnknownProfileError,
    UnknownSettingError,
    environment_variable,
    find_settings_file,
    known_settings,
    load_settings,
)

REFERENCE = Path(__file__).parents[2] / "docs" / "settings.md"


def written(folder: Path, text: str) -> Path:
    path = folder / "penstock.toml"
    path.write_text(text, encoding="utf-8")
    return path


def loaded(folder: Path, text: str, environ: dict[str, str] | None = None) -> Settings:
    written(folder, text)
    return load_settings(start=folder, environ=environ or {})


def source_of(settings: Settings, key: str) -> tuple[object, str]:
    resolved = {item.key: item for item in settings.resolved}
    return resolved[key].value, resolved[key].source


BOOTSTRAP = '[profiles.local]\nbootstrap = "file:1"'
TIMEOUT = "[profiles.local]\nrequest_timeout_seconds = 1"
DATA_DIR = '[platform]\ndata_dir = "/file"'
CACHE_DIR = '[java]\ncache_dir = "/file"'


@pytest.mark.parametrize(
    ("key", "in_file", "in_environment", "expected"),
    [
        ("bootstrap", BOOTSTRAP, "env:2", (None, "file:1", "env:2", "line:3")),
        ("request_timeout_seconds", TIMEOUT, "2.5", (10.0, 1.0, 2.5, 4.0)),
        ("platform.port", "[platform]\nport = 1001", "1002", (None, 1001, 1002, 1003)),
        ("platform.brokers", "[platform]\nbrokers = 3", "1", (1, 3, 1, 3)),
        (
            "platform.data_dir",
            DATA_DIR,
            "/env",
            (Path("/data/penstock"), Path("/file"), Path("/env"), Path("/line")),
        ),
        (
            "java.cache_dir",
            CACHE_DIR,
            "/env",
            (Path("/cache/penstock"), Path("/file"), Path("/env"), Path("/line")),
        ),
    ],
)
def test_command_line_wins_over_environment_over_file_over_default(
    tmp_path: Path, key: str, in_file: str, in_environment: str, expected: tuple[object, ...]
) -> None:
    variable = environment_variable(key)
    homes = {"XDG_DATA_HOME": "/data", "XDG_CACHE_HOME": "/cache"}
    environ = homes | {variable: in_environment}
    empty = tmp_path / "empty"
    empty.mkdir()
    written(empty, "")
    path = written(tmp_path, in_file)

    found = [
        source_of(load_settings(start=empty, environ=homes), key),
        source_of(load_settings(start=tmp_path, environ=homes), key),
        source_of(load_settings(start=tmp_path, environ=environ), key),
        source_of(load_settings({key: expected[3]}, start=tmp_path, environ=environ), key),
    ]

    places = ["default", str(path), f"environment {variable}", "command line"]
    assert found == list(zip(expected, places, strict=True))


def test_an_option_that_was_not_given_does_not_hide_the_file(tmp_path: Path) -> None:
    written(tmp_path, '[profiles.local]\nbootstrap = "file:1"')
    settings = load_settings({"bootstrap": None}, start=tmp_path, environ={})
    assert settings.cluster.bootstrap == "file:1"


def test_an_empty_variable_counts_as_unset(tmp_path: Path) -> None:
    settings = loaded(
        tmp_path, '[profiles.local]\nbootstrap = "file:1"', {"PENSTOCK_BOOTSTRAP": ""}
    )
    assert settings.cluster.bootstrap == "file:1"


def test_numbers_in_the_environment_are_text_that_is_read_as_numbers(tmp_path: Path) -> None:
    environ = {
        "PENSTOCK_PLATFORM_BROKERS": "3",
        "PENSTOCK_PLATFORM_HEAP_MB": "256",
        "PENSTOCK_REQUEST_TIMEOUT_SECONDS": "2.5",
    }
    settings = loaded(tmp_path, "", environ)
    assert (
        settings.platform.brokers,
        settings.platform.heap_mb,
        settings.cluster.request_timeout_seconds,
    ) == (3, 256, 2.5)


def test_the_file_is_found_in_the_folders_above(tmp_path: Path) -> None:
    path = written(tmp_path, "")
    deep = tmp_path / "flows" / "fraud"
    deep.mkdir(parents=True)
    assert (find_settings_file(deep), load_settings(start=deep, environ={}).file) == (path, path)


PROFILES = """
profile = "staging"
[profiles.local]
bootstrap = "local:1"
[profiles.staging]
bootstrap = "staging:1"
[profiles.production]
bootstrap = "production:1"
"""


@pytest.mark.parametrize(
    ("environ", "option", "expected"),
    [
        ({}, None, "staging:1"),
        ({"PENSTOCK_PROFILE": "production"}, None, "production:1"),
        ({"PENSTOCK_PROFILE": "production"}, "local", "local:1"),
    ],
)
def test_the_profile_comes_from_option_environment_or_file(
    tmp_path: Path, environ: dict[str, str], option: str | None, expected: str
) -> None:
    written(tmp_path, PROFILES)
    settings = load_settings({"profile": option}, start=tmp_path, environ=environ)
    assert settings.cluster.bootstrap == expected


def test_an_unknown_profile_names_the_nearest(tmp_path: Path) -> None:
    path = written(tmp_path, PROFILES)
    with pytest.raises(UnknownProfileError) as caught:
        load_settings({"profile": "prodcution"}, start=tmp_path, environ={})
    assert (caught.value.message, caught.value.hint) == (
        f"profile `prodcution` does not exist: `{path}` has `local`, `staging`, `production`",
        "did you mean `production`?",
    )


def test_an_unknown_profile_without_a_file_says_where_it_was_searched(tmp_path: Path) -> None:
    with pytest.raises(UnknownProfileError) as caught:
        load_settings({"profile": "staging"}, start=tmp_path, environ={})
    assert caught.value.message == (
        "profile `staging` does not exist: no `penstock.toml` here or above"
    )


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("[platfrom]\nport = 1", "`platfrom` is not a setting", "did you mean `platform`?"),
        (
            "[platform]\nprot = 1",
            "`platform.prot` is not a setting",
            "did you mean `platform.port`?",
        ),
        (
            '[profiles.production]\nbootstarp = "a:1"',
            "`profiles.production.bootstarp` is not a setting",
            "did you mean `profiles.production.bootstrap`?",
        ),
        (
            'bootstrap = "a:1"',
            "`bootstrap` is not a setting",
            "did you mean `profiles.local.bootstrap`?",
        ),
        (
            'xyzzy = "a"\n[java]\nivy_setings = "x"\n[platform]\nheap = 3',
            "`xyzzy`, `java.ivy_setings`, `platform.heap` are not settings",
            "did you mean `java.ivy_settings`, `platform.heap_mb`?",
        ),
        (
            "xyzzy = 1",
            "`xyzzy` is not a setting",
            "remove it; `penstock config show` lists the settings",
        ),
    ],
)
def test_unknown_keys_are_reported_together_with_the_nearest_names(
    tmp_path: Path, text: str, message: str, hint: str
) -> None:
    with pytest.raises(UnknownSettingError) as caught:
        loaded(tmp_path, text)
    assert (caught.value.message, caught.value.hint) == (message, hint)
    assert str(caught.value.origin) == str(tmp_path / "penstock.toml")


def test_an_unknown_variable_is_an_error_and_other_programs_variables_are_not(
    tmp_path: Path,
) -> None:
    with pytest.raises(UnknownSettingError) as caught:
        loaded(tmp_path, "", {"PENSTOCK_BOOTSTARP": "a:1", "HOME": "/h", "PENSTOCKS": "1"})
    assert (caught.value.keys, caught.value.hint) == (
        ("PENSTOCK_BOOTSTARP",),
        "did you mean `PENSTOCK_BOOTSTRAP`?",
    )


@pytest.mark.parametrize(
    ("text", "key", "reason"),
    [
        ('[platform]\nport = "9092"', "platform.port", "it should be a valid integer"),
        ("[platform]\nport = true", "platform.port", "it should be a valid integer"),
        ("[platform]\nport = 70000", "platform.port", "it should be less than or equal to 65000"),
        ("[platform]\nbrokers = 2", "platform.brokers", "2 is neither 1 nor 3"),
        ("[platform]\ndata_dir = 7", "platform.data_dir", "it should be an instance of Path"),
        ("[profiles.local]\nbootstrap = 7", "bootstrap", "it should be a valid string"),
        (
            '[profiles.local]\nsecurity_protocol = "TLS"',
            "security_protocol",
            "it should be 'PLAINTEXT', 'SSL', 'SASL_PLAINTEXT' or 'SASL_SSL'",
        ),
        (
            "[profiles.local]\nrequest_timeout_seconds = 0",
            "request_timeout_seconds",
            "it should be greater than 0",
        ),
        ("profile = 3", "profile", "it must be the name of a profile"),
        ("platform = 3", "platform", "it must be a table"),
        ("profiles = 3", "profiles", "it must be a table"),
        ("[profiles]\nlocal = 3", "profiles.local", "it must be a table"),
    ],
)
def test_a_wrong_value_is_refused_with_its_reason_and_source(
    tmp_path: Path, text: str, key: str, reason: str
) -> None:
    with pytest.raises(InvalidSettingError) as caught:
        loaded(tmp_path, text)
    path = str(tmp_path / "penstock.toml")
    assert caught.value.problems == (InvalidValue(key=key, reason=reason, source=path),)


def test_wrong_values_are_reported_together(tmp_path: Path) -> None:
    with pytest.raises(InvalidSettingError) as caught:
        loaded(tmp_path, "[platform]\nport = -1", {"PENSTOCK_PLATFORM_BROKERS": "many"})
    assert caught.value.message == (
        "`platform.brokers` from environment PENSTOCK_PLATFORM_BROKERS is not valid: it should be "
        "a valid integer, unable to parse string as an integer; "
        f"`platform.port` from {tmp_path / 'penstock.toml'} is not valid: it should be greater "
        "than or equal to 0"
    )


@pytest.mark.parametrize("content", [b"[platform\n", b"\xff\xfe", b'a = "\n'])
def test_a_file_that_is_not_toml_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "penstock.toml"
    path.write_bytes(content)
    with pytest.raises(SettingsFileError) as caught:
        load_settings(start=tmp_path, environ={})
    assert str(caught.value.origin) == str(path)


SASL = """
[profiles.local]
security_protocol = "SASL_PLAINTEXT"
sasl_mechanism = "PLAIN"
sasl_username = "ada"
"""


def test_secrets_are_read_by_reference_and_never_shown(tmp_path: Path) -> None:
    (tmp_path / "key-password").write_text("open sesame\n", encoding="utf-8")
    text = (
        f'{SASL}sasl_password = "${{env:KAFKA_PASSWORD}}"\n'
        'ssl_key_password = "${file:key-password}"\n'
        '[registry]\npassword = "${env:KAFKA_PASSWORD}"\n'
    )
    settings = loaded(tmp_path, text, {"KAFKA_PASSWORD": "hunter2"})

    assert settings.cluster.sasl_password == SecretStr("hunter2")
    assert settings.cluster.ssl_key_password == SecretStr("open sesame")
    assert "hunter2" not in repr(settings)
    assert "open sesame" not in repr(settings)
    source = str(tmp_path / "penstock.toml")
    assert [item for item in settings.resolved if item.secret] == [
        Resolved(key="sasl_password", value="********", source=source, secret=True),
        Resolved(key="ssl_key_password", value="********", source=source, secret=True),
        Resolved(key="registry.password", value="********", source=source, secret=True),
    ]


@pytest.mark.parametrize("reference", ["${env:NOT_SET}", "${file:absent}", "${vault:x}", "${}"])
def test_a_reference_that_leads_nowhere_is_named(tmp_path: Path, reference: str) -> None:
    with pytest.raises(SecretNotFoundError) as caught:
        loaded(tmp_path, f'{SASL}sasl_password = "{reference}"')
    assert caught.value.message == (
        f"`sasl_password` from {tmp_path / 'penstock.toml'} refers to `{reference}`, "
        "which cannot be read"
    )


def test_sasl_without_credentials_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(MissingSettingError) as caught:
        loaded(tmp_path, '[profiles.local]\nsecurity_protocol = "SASL_SSL"')
    assert (caught.value.message, caught.value.hint) == (
        "`sasl_mechanism`, `sasl_username`, `sasl_password` must be set, because "
        "`security_protocol` is `SASL_SSL`",
        "add to the profile in `penstock.toml`, or set PENSTOCK_SASL_MECHANISM, "
        "PENSTOCK_SASL_USERNAME, PENSTOCK_SASL_PASSWORD",
    )


def test_relative_paths_in_the_file_start_at_its_folder(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").touch()
    (tmp_path / "ivy.xml").touch()
    below = tmp_path / "below"
    below.mkdir()
    written(
        tmp_path,
        '[profiles.local]\nssl_ca = "ca.pem"\n[platform]\ndata_dir = "data"\n'
        '[java]\ncache_dir = "../cache"\nivy_settings = "ivy.xml"',
    )
    settings = load_settings(start=below, environ={})
    assert (
        settings.cluster.ssl_ca,
        settings.platform.data_dir,
        settings.java.cache_dir,
        settings.java.ivy_settings,
    ) == (
        tmp_path / "ca.pem",
        tmp_path / "data",
        tmp_path / ".." / "cache",
        tmp_path / "ivy.xml",
    )


def test_relative_paths_in_the_environment_start_where_the_command_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    settings = loaded(tmp_path, "", {"PENSTOCK_PLATFORM_DATA_DIR": "data"})
    assert settings.platform.data_dir == here / "data"


def test_a_tilde_is_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    settings = loaded(tmp_path, '[platform]\ndata_dir = "~/kafka"')
    assert settings.platform.data_dir == Path("/home/ada/kafka")


def test_a_certificate_that_is_not_there_is_noticed_before_connecting(tmp_path: Path) -> None:
    with pytest.raises(InvalidSettingError) as caught:
        loaded(tmp_path, '[profiles.local]\nssl_ca = "ca.pem"')
    assert caught.value.problems[0].reason == f"there is no file `{tmp_path / 'ca.pem'}`"


MASTER_REASON = "`mesos://x` is neither `local[CORES]`, `spark://…`, `yarn` nor `k8s://…`"
URL_REASON = "`host:8081` is not an address such as `http://127.0.0.1:8081`"
EMPTY_REASON = "String should have at least 1 character"
FILES_REASON = "Value should have at least 1 item after validation, not 0"
SPARK = """
profile = "production"
[spark]
driver_memory_mb = 1024
[spark.conf]
spark.sql.shuffle.partitions = 4
"spark.ui.enabled" = true
[profiles.production.spark]
master = "spark://host:7077"
checkpoint_root = "s3a://bucket/checkpoints"
conf = {"spark.ui.enabled" = "false", "spark.hadoop.fs.s3a.secret.key" = "${env:KEY}"}
"""


def test_the_table_of_a_profile_wins_over_that_for_all_profiles(tmp_path: Path) -> None:
    settings = loaded(tmp_path, SPARK, {"KEY": "hunter2", "XDG_DATA_HOME": "/data"})
    assert settings.spark == SparkSettings(
        master="spark://host:7077",
        driver_memory_mb=1024,
        checkpoint_root=Location("s3a://bucket/checkpoints"),
        warehouse=Location("/data/penstock/tables"),
        conf={
            "spark.sql.shuffle.partitions": "4",
            "spark.ui.enabled": "false",
            "spark.hadoop.fs.s3a.secret.key": "hunter2",
        },
    )


def test_a_profile_has_a_registry_of_its_own(tmp_path: Path) -> None:
    text = """
        profile = "production"
        [registry]
        url = "http://127.0.0.1:8081"
        username = "ada"
        [profiles.production.registry]
        url = "https://schemas.example.org/"
        """
    assert loaded(tmp_path, text).registry == RegistrySettings(
        url="https://schemas.example.org", username="ada"
    )


def test_secrets_in_the_settings_of_spark_are_not_shown(tmp_path: Path) -> None:
    settings = loaded(tmp_path, SPARK, {"KEY": "hunter2"})
    assert source_of(settings, "spark.conf")[0] == {
        "spark.sql.shuffle.partitions": "4",
        "spark.ui.enabled": "false",
        "spark.hadoop.fs.s3a.secret.key": "********",
    }


def test_checkpoints_and_tables_are_in_the_data_folder_unless_said_otherwise(
    tmp_path: Path,
) -> None:
    text = '[platform]\ndata_dir = "data"\n[spark]\nwarehouse = "tables"'
    spark = loaded(tmp_path, text).spark
    assert (spark.checkpoint_root, spark.warehouse) == (
        str(tmp_path / "data" / "checkpoints"),
        str(tmp_path / "tables"),
    )


def test_lists_and_tables_have_a_spelling_for_the_environment(tmp_path: Path) -> None:
    environ = {
        "PENSTOCK_PIPELINE_FILES": "flows/*.py, sql/*.sql",
        "PENSTOCK_SPARK_CONF": "spark.ui.enabled=true, spark.task.maxFailures=8",
    }
    settings = loaded(tmp_path, '[pipeline]\nname = "fraud"\nfiles = ["a.py"]', environ)
    assert (settings.pipeline, settings.spark.conf) == (
        PipelineSettings(name=PipelineName("fraud"), files=("flows/*.py", "sql/*.sql")),
        {"spark.ui.enabled": "true", "spark.task.maxFailures": "8"},
    )


@pytest.mark.parametrize(
    ("text", "key", "reason"),
    [
        (
            "[spark.conf]\nspark.driver.memory = '4g'",
            "spark.conf",
            "`spark.driver.memory` is Penstock's to set; set `spark.driver_memory_mb`",
        ),
        ("[spark.conf]\nsql.x = 1", "spark.conf", "`sql.x` does not begin with `spark.`"),
        ("[spark]\nconf = 3", "spark.conf", "it should be a valid dictionary"),
        ("[spark]\nmaster = 'mesos://x'", "spark.master", MASTER_REASON),
        ("[spark]\ncheckpoint_root = ''", "spark.checkpoint_root", EMPTY_REASON),
        ("[pipeline]\nfiles = []", "pipeline.files", FILES_REASON),
        ("[pipeline]\nfiles = [1]", "pipeline.files", "it should be a valid string"),
        ("[profiles.local]\nspark = 3", "profiles.local.spark", "it must be a table"),
        ("[profiles.local]\nregistry = 3", "profiles.local.registry", "it must be a table"),
        ("[registry]\nurl = 'host:8081'", "registry.url", URL_REASON),
    ],
)
def test_a_wrong_value_for_spark_or_the_pipeline_is_refused(
    tmp_path: Path, text: str, key: str, reason: str
) -> None:
    with pytest.raises(InvalidSettingError) as caught:
        loaded(tmp_path, text)
    path = str(tmp_path / "penstock.toml")
    assert caught.value.problems == (InvalidValue(key=key, reason=reason, source=path),)


def test_an_unknown_key_in_the_table_of_a_profile_names_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(UnknownSettingError) as caught:
        loaded(tmp_path, '[profiles.production.spark]\nmastr = "yarn"')
    assert (caught.value.keys, caught.value.hint) == (
        ("profiles.production.spark.mastr",),
        "did you mean `profiles.production.spark.master`?",
    )


def test_every_fault_of_settings_is_wrong_usage() -> None:
    faults = (
        InvalidSettingError,
        MissingSettingError,
        SecretNotFoundError,
        SettingsFileError,
        UnknownProfileError,
        UnknownSettingError,
    )
    assert {kind: issubclass(kind, UsageError) for kind in faults} == dict.fromkeys(faults, True)


def test_the_reference_page_lists_every_setting_as_it_is() -> None:
    rows = [line for line in REFERENCE.read_text("utf-8").splitlines() if line.startswith("| `")]
    homes = {
        "platform.data_dir": "`~/.local/share/penstock`",
        "java.cache_dir": "`~/.cache/penstock`",
        "spark.checkpoint_root": "`~/.local/share/penstock/checkpoints`",
        "spark.warehouse": "`~/.local/share/penstock/tables`",
        "pipeline.files": "`flows.py`, `flows/**/*.py`",
    }
    assert rows == [
        f"| `{item.key}` | `{environment_variable(item.key)}` "
        f"| {homes.get(item.key) or (f'`{item.default}`' if item.default is not None else '')} "
        f"| {item.description} |"
        for item in known_settings()
    ]


def test_masks_are_tables_of_the_file_or_json_in_the_environment(tmp_path: Path) -> None:
    text = '[[console.masks]]\ntopics = "pay-*"\nvalue = ["$.card"]\nvisible_from = "operator"'
    mask = MaskSettings(topics="pay-*", value=("$.card",), visible_from="operator")
    environ = {"PENSTOCK_CONSOLE_MASKS": '[{"topics": "*", "key": ["$"]}]'}

    assert loaded(tmp_path, text).console.masks == (mask,)
    assert source_of(loaded(tmp_path, text), "console.masks")[0] == (
        "topics=pay-* value=$.card kind=mask visible_from=operator",
    )
    assert loaded(tmp_path, text, environ).console.masks == (MaskSettings(topics="*", key=("$",)),)


@pytest.mark.parametrize(
    "text",
    [
        '[[console.masks]]\ntopics = "a"\nvaule = ["$"]',
        '[[console.masks]]\ntopics = "a"',
        '[[console.masks]]\nvalue = ["$"]',
        '[[console.masks]]\ntopics = "a"\nvalue = ["$"]\nkind = "hide"',
        '[console]\nmasks = "$"',
        '[console]\nmasks = ["$"]',
    ],
)
def test_a_mask_that_is_not_understood_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(InvalidSettingError, match=r"console\.masks"):
        loaded(tmp_path, text)


def test_service_levels_are_tables_of_the_pipeline(tmp_path: Path) -> None:
    text = (
        '[[pipeline.service_levels]]\nname = "fast"\nmetric = "latency"\nthreshold = "2 ms"\n'
        'share = 0.85\nover = "24 h"\n'
        '[[pipeline.service_levels]]\nname = "there"\nmetric = "availability"\nshare = 0.995\n'
        'flow = "by_ip"\nover = "7 d"\n'
        '[[pipeline.service_levels]]\nname = "keeps-up"\nmetric = "lag_seconds"\nshare = 0.5\n'
        'threshold = "1 min 30 s"\nover = "90 min"\n'
    )
    settings = loaded(tmp_path, text)

    assert settings.pipeline.service_levels[0] == ServiceLevel(
        name="fast",
        measure=Measure.LATENCY,
        share=0.85,
        over_seconds=86_400,
        threshold_seconds=0.002,
    )
    assert source_of(settings, "pipeline.service_levels")[0] == (
        "85 % of records within 2 ms, over 24 h",
        "99.5 % of the time `by_ip` runs, over 7 d",
        "50 % of the time nothing unread is older than 90 s, over 90 min",
    )


LEVEL = '[[pipeline.service_levels]]\nname = "a"\n'


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (LEVEL + 'metric = "speed"\nshare = 0.9', "`a`: `metric`: input should be 'latency', "),
        (LEVEL + 'metric = "availability"\nshare = 1', "`a`: `share`: input should be less than 1"),
        (LEVEL + 'metric = "availability"\nshare = 0.9\nthreshold = "2 s"', "has no `threshold`"),
        (LEVEL + 'metric = "latency"\nshare = 0.9', "`a`: latency needs a `threshold`"),
        (LEVEL + 'metric = "latency"\nshare = 0.9\nthreshold = "2"', "not `2`"),
        (LEVEL + 'metric = "availability"\nshare = 0.9\nover = "8 d"', "`1 min` to `7 days`"),
        (LEVEL + 'metric = "availability"\nshare = 0.9\nfor = "a"', "`for`: extra inputs"),
        (2 * (LEVEL + 'metric = "availability"\nshare = 0.9\n'), "two service levels are called"),
        ('[pipeline]\nservice_levels = ["a"]', "each service level must be a table"),
        ("[pipeline]\nservice_levels = 7", "tuple"),
    ],
)
def test_a_service_level_that_is_not_understood_is_refused(
    tmp_path: Path, text: str, reason: str
) -> None:
    with pytest.raises(InvalidSettingError) as refused:
        loaded(tmp_path, text)
    assert reason in refused.value.message
