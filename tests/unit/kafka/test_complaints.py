"""What a client complained about explains a timeout, as long as it is fresh."""

from confluent_kafka import KafkaError

from penstock.kafka.complaints import Complaints
from penstock.kafka.errors import AuthenticationFailedError, NotAuthorizedError
from penstock.kafka.producer.errors import DeliveryError, DeliveryTerms, delivery_error

WRONG_PASSWORD = KafkaError(KafkaError._AUTHENTICATION, "wrong password")  # noqa: SLF001
ALL_DOWN = KafkaError(KafkaError._ALL_BROKERS_DOWN, "1/1 brokers are down")  # noqa: SLF001
LOST = KafkaError(KafkaError._TRANSPORT, "connection refused")  # noqa: SLF001
TIMED_OUT = KafkaError(KafkaError._MSG_TIMED_OUT, "timed out")  # noqa: SLF001


class Clock:
    """A clock that stands until it is set."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def complaints(clock: Clock | None = None) -> Complaints:
    return Complaints("kafka-1:9092", action="take records", clock=clock or Clock())


def test_a_client_that_did_not_complain_has_no_last_word() -> None:
    assert (complaints().last_word(), complaints().refusal()) == ("", None)


def test_a_refused_password_is_remembered_with_the_address() -> None:
    noted = complaints()

    noted.note(WRONG_PASSWORD)
    noted.note(LOST)
    refusal = noted.refusal()

    assert isinstance(refusal, AuthenticationFailedError)
    assert refusal.message == "`kafka-1:9092` does not accept the credentials: wrong password"
    assert noted.last_word() == "connection refused"


def test_that_all_brokers_are_down_explains_nothing() -> None:
    noted = complaints()

    noted.note(LOST)
    noted.note(ALL_DOWN)

    assert noted.last_word() == "connection refused"
    assert noted.refusal() is None


def test_a_complaint_of_the_past_explains_nothing() -> None:
    clock = Clock()
    noted = complaints(clock)

    noted.note(WRONG_PASSWORD)
    clock.now = 31.0

    assert (noted.last_word(), noted.refusal()) == ("", None)


def test_a_fatal_refusal_holds_for_good() -> None:
    clock = Clock()
    noted = complaints(clock)

    noted.note(KafkaError(KafkaError.CLUSTER_AUTHORIZATION_FAILED, "no producer id", fatal=True))
    clock.now = 86_400.0
    refusal = noted.refusal()

    assert isinstance(refusal, NotAuthorizedError)
    assert refusal.message == "`kafka-1:9092` refuses to take records: no producer id"


def test_a_record_that_timed_out_after_a_refusal_is_told_the_refusal() -> None:
    noted = complaints()
    noted.note(WRONG_PASSWORD)

    error = delivery_error(
        TIMED_OUT,
        topic="orders",
        partition=None,
        byte_count=1,
        terms=DeliveryTerms(
            bootstrap="kafka-1:9092",
            max_record_bytes=1,
            batch_bytes=1,
            delivery_timeout_seconds=1,
        ),
        refusal=noted.refusal(),
    )

    assert type(error) is DeliveryError
    assert error.message == (
        "a record for `orders` was not delivered: "
        "`kafka-1:9092` does not accept the credentials: wrong password"
    )
    assert not error.retryable
