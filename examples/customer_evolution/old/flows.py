"""A program of the time when customers had fax machines."""

from pyspark.sql import DataFrame

import penstock as ps

ps.topic(
    "customers",
    kafka_name="customerContacts",
    value=ps.avro(),  # the schema of that time: schemas/customerContacts-value.avsc
    external=True,
    description="customers, by whichever version their writer knows",
)
ps.topic(
    "faxes",
    kafka_name="customer-faxes",
    value=ps.json("id int, name string, faxNumber string"),
    key="id",
    partitions=1,
    description="how to send a fax",
)


@ps.flow(into="faxes")
def list_faxes(customers: DataFrame) -> DataFrame:
    """Customers of newer writers are among them, without a number."""
    return customers
