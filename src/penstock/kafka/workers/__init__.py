"""Workers: a handler over topics, with retries, dead letters and offsets in a database."""
