import click
import pytest

from penstock.cli.config_options import (
    ASSIGNMENT,
    SETTING,
    RepeatedConfigError,
    alterations,
)
from penstock.kafka import ConfigAlteration


@pytest.mark.parametrize(
    ("text", "setting"),
    [
        ("retention.ms=1", ("retention.ms", "1")),
        (" retention.ms = 1 ", ("retention.ms", "1")),
        ("a=b=c", ("a", "b=c")),
        ("a=", ("a", "")),
    ],
)
def test_a_config_is_split_at_the_first_equals_sign(text: str, setting: tuple[str, str]) -> None:
    assert SETTING.convert(text, None, None) == setting


@pytest.mark.parametrize("text", ["", "retention.ms", "=1"])
def test_a_config_without_key_or_value_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter):
        SETTING.convert(text, None, None)


def test_an_assignment_is_a_partition_and_its_brokers() -> None:
    assert ASSIGNMENT.convert("0=1, 2,3", None, None) == (0, (1, 2, 3))


@pytest.mark.parametrize("text", ["", "0", "0=", "0=a", "a=1", "0=1,,2", "-1=1"])
def test_an_assignment_in_another_form_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter):
        ASSIGNMENT.convert(text, None, None)


def test_setting_and_unsetting_become_alterations() -> None:
    assert alterations([("a", "1")], ["b"]) == (
        ConfigAlteration(name="a", value="1"),
        ConfigAlteration(name="b", value=None),
    )


def test_a_config_given_twice_is_refused() -> None:
    with pytest.raises(RepeatedConfigError):
        alterations([("a", "1")], ["a"])
