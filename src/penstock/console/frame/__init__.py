"""What all pages of the console have in common: how they are declared, guarded, drawn, kept live.

asking.py     what a page knows of a request
pages.py      a page: loaded, drawn, and as JSON
actions.py    something that can be done: asked for, allowed, done, put on the trail
bodies.py     what a request carries, up to a limit
forms.py      the fields of actions, from pydantic models
listings.py   long lists: searched, sorted and cut into pages on the server
charts.py     drawings of figures, as SVG
past.py       graphs from the history
rendering.py  Jinja
answering.py  from a request to an answer: guard, page or action, faults
live.py       server-sent events with the parts of a page that changed
openapi.py    the description of all of it
spreadsheets.py  tables as CSV
"""

from penstock.console.frame.actions import Action, Question, Table
from penstock.console.frame.asking import Ask
from penstock.console.frame.listings import Listing, listing
from penstock.console.frame.pages import LISTING, Page, Parameter

__all__ = [
    "LISTING",
    "Action",
    "Ask",
    "Listing",
    "Page",
    "Parameter",
    "Question",
    "Table",
    "listing",
]
