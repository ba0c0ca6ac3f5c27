"""Consumer groups: members, lag, resets, and snapshots of their offsets."""
