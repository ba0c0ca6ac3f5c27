"""The schema registry: its server, and the client of it."""
