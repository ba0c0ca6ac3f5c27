"""Exactly once into topics: a batch is shared out to lanes, each of which writes its share once.

    lane_records.py what lanes are given: records in bytes
    lane_plan.py    which partitions of a batch are lanes, and which lane each is
    sink.py         the driver's part: one job per batch, the ledger before and after it
    keeping.py      batches in files, for plans that give other rows when they are run again
    letters.py      lanes for dead letters, which are written behind their batch
    tasks.py        the workers' part: Arrow batches become records of a lane

Lanes themselves, with their transactions, are `penstock.kafka.lanes`.
"""
