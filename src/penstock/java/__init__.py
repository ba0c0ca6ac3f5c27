"""Java and jars: which runtime to use, and the locked jars that Kafka and Spark run from."""
