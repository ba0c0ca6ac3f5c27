"""Exactly once into topics: a batch is shared out to lanes, each of which writes its share once.

    lane_plan.py    which partitions of a batch are lanes, and which lane each is
    sink.py         the driver's part: one job per batch, the ledger before and after it
    tasks.py        the workers' part: Arrow batches become records of a lane

Lanes themselves, with their transactions, are `penstock.kafka.lanes`.
"""
