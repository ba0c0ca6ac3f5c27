"""The web console: pages over the pipelines, topics, groups, schemas and brokers of a cluster."""
