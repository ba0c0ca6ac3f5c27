"""The registry as a whole: what it knows, and what can be asked of it.

Its parts are use cases; the REST API (`registry/api`) calls them. All of them may be called from
any thread and take as long as parsing and the log take.
"""

from penstock.registry.compatibility import Compatibility
from penstock.registry.configuring import Configuring
from penstock.registry.deleting import Deleting
from penstock.registry.log import Log
from penstock.registry.parsing import Parsing
from penstock.registry.reading import Reading
from penstock.registry.registering import Registering
from penstock.registry.scopes import Scopes
from penstock.registry.state import RegistryState
from penstock.registry.writing import Writing


class Registry:
    """A schema registry on a log."""

    def __init__(self, state: RegistryState, log: Log) -> None:
        scopes = Scopes(state)
        writing = Writing(log)
        self.state = state
        self.parsing = Parsing(state)
        self.reading = Reading(state, self.parsing, scopes)
        self.compatibility = Compatibility(state, self.parsing, scopes, self.reading)
        self.registering = Registering(state, writing, scopes, self.reading, self.compatibility)
        self.deleting = Deleting(state, writing, scopes, self.reading)
        self.configuring = Configuring(state, writing, scopes)
