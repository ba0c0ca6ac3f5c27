"""The cluster itself: brokers, quorum, configs, and what only a plain request can ask."""
