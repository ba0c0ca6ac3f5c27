"""Faults done to a pipeline while it writes, and a judge who knows what must come out.

pipeline.py     the flows under test
sender.py       numbered input, known duplicates, and a list of what was acknowledged
judge.py        what must come out, computed apart from Spark, compared record for record
brokers.py      three brokers, one of them behind a proxy that can be cut
drivers.py      the driver under test: start it again, freeze and kill it and what is below it
failpoints/     what the harness puts into the processes of the product, from outside
faults.py       the kinds of faults
soak.py         so many of them, drawn by a seed
"""
