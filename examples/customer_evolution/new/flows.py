"""The program that came after it: customers have an e-mail address."""

from pyspark.sql import DataFrame

import penstock as ps

ps.topic(
    "customers",
    kafka_name="customerContacts",
    value=ps.avro(),  # the schema of today: schemas/customerContacts-value.avsc
    external=True,
    description="customers, by whichever version their writer knows",
)
ps.topic(
    "emails",
    kafka_name="customer-emails",
    value=ps.json("id int, name string, email string"),
    key="id",
    partitions=1,
    description="how to send a mail",
)


@ps.flow(into="emails")
def list_emails(customers: DataFrame) -> DataFrame:
    """Customers of older writers are among them, without an address."""
    return customers
