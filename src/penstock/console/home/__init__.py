"""The first page: is data flowing, how late is it, what is broken, what will be lost."""

from penstock.console.home.pages import HOME
from penstock.console.parts import Parts

PARTS = Parts(pages=(HOME,))
