"""A program to be killed: sends numbers through a spool and prints each that was accepted."""

import itertools
import sys
from pathlib import Path

from penstock.kafka import Producer

bootstrap, topic, folder = sys.argv[1:]
producer = Producer(bootstrap, spool=Path(folder))
for number in itertools.count():
    producer.send(topic, str(number), partition=0)
    sys.stdout.write(f"{number}\n")
    sys.stdout.flush()
