"""The producer: sending, delivery reports, and the spool for times without a cluster."""
