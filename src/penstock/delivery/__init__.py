"""What became of the records that a pipeline has read: the history of its batches, and its audit.

    records.py    what is noted of a batch
    history.py    the topic that keeps it
    audit.py      the arithmetic: whether it adds up

Plain Python: the engine counts, and calls this.
"""
