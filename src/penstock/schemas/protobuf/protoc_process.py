"""The child process in which protoc runs: `compiler.py` starts it and speaks with it.

A request is a line of JSON: the arguments of protoc, and the file that its errors go to. The
answer is a line with protoc's exit status. The process ends when its standard input does, so that
it never outlives whoever started it.
"""

import json
import os
import resource
import sys


def main() -> None:
    """Answer requests until there are no more."""
    from grpc_tools import protoc  # type: ignore[import-untyped]  # ships no types

    # A crash is expected of hostile schemas: the compiler reports it, no core file needs to.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with os.fdopen(os.dup(1), "w") as answers:
        os.dup2(2, 1)  # whatever protoc prints must not be taken for an answer
        answers.write("ready\n")
        answers.flush()
        for line in sys.stdin:
            request = json.loads(line)
            _redirect_errors(request["errors"])
            status = protoc.main(["protoc", *request["arguments"]])
            answers.write(f"{status}\n")
            answers.flush()


def _redirect_errors(path: str) -> None:
    target = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.dup2(target, 2)
    os.close(target)


if __name__ == "__main__":
    main()
