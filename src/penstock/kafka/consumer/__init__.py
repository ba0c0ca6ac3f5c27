"""The consumer: reading, commits, rebalances, and bounded excerpts of topics."""
