"""Topics: what they are made of, creating, altering, purging and deleting them."""
