"""The `penstock` command: a file per command, one renderer, errors as one clear sentence."""
