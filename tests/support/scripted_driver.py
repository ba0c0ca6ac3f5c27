"""A driver that does what a test has written down: what to say, and how to end, start by start.

Run as `python scripted_driver.py FILE`. FILE has a line of JSON per start: `say` is printed to
stdout, `child` starts a process in a session of its own, `end` is an exit status, `wait` (until
SIGTERM) or `stubborn` (for ever). The last line serves all further starts.
"""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

FLOW_STARTED = {"event": "flow_started", "flow": "detect", "told": "detect: started"}


def main(script: Path) -> int:
    """Do what the first line that was not done yet says."""
    lines = script.read_text().splitlines()
    if len(lines) > 1:
        script.write_text("\n".join(lines[1:]))
    act = json.loads(lines[0])
    end = act.get("end", "wait")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0) if end == "wait" else None)
    if act.get("child"):
        quiet = subprocess.DEVNULL
        subprocess.Popen(["sleep", "600"], start_new_session=True, stdout=quiet, stderr=quiet)
    for item in act.get("say", ()):
        sys.stdout.write(json.dumps(item) + "\n")
    sys.stdout.flush()
    if isinstance(end, int):
        return end
    while True:
        time.sleep(600)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
