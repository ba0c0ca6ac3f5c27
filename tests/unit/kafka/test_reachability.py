import pytest

from penstock.kafka.reachability import Address, InvalidAddressError, bootstrap_addresses


@pytest.mark.parametrize(
    ("bootstrap", "addresses"),
    [
        ("localhost:9092", [Address("localhost", 9092)]),
        ("kafka-1:9092, kafka-2:9093", [Address("kafka-1", 9092), Address("kafka-2", 9093)]),
        ("kafka-1", [Address("kafka-1", 9092)]),
        ("PLAINTEXT://kafka-1:19092", [Address("kafka-1", 19092)]),
        ("[::1]:9092", [Address("::1", 9092)]),
        ("[::1]", [Address("::1", 9092)]),
    ],
)
def test_addresses_are_read_as_the_client_reads_them(
    bootstrap: str, addresses: list[Address]
) -> None:
    assert bootstrap_addresses(bootstrap) == addresses


@pytest.mark.parametrize("bootstrap", ["", ":9092", "kafka:port", "kafka:0", "kafka:70000", "a:1,"])
def test_an_address_that_cannot_be_one_is_refused(bootstrap: str) -> None:
    with pytest.raises(InvalidAddressError) as caught:
        bootstrap_addresses(bootstrap)

    assert (caught.value.code, caught.value.exit_status) == ("PEN-410", 2)
