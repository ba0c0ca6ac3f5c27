"""Lanes: writers into topics that write each batch once, whoever dies in the middle of it.

A lane is a share of the records of every batch that is the same whenever the batch is run again. It
sends its records and an entry of the ledger in one transaction, so the entry is there if and only
if the records are. Whoever runs the batch again opens the lane, which ends the transaction of all
others that have it open, reads the entry, and writes only what is not written.
"""
