"""Who may do what in the console: roles, users, tokens, sessions, and proof of intent."""

from penstock.console.access.guard import Guard, Visitor
from penstock.console.access.roles import Role
from penstock.console.access.users import Users, load_users, token_line, user_line

__all__ = ["Guard", "Role", "Users", "Visitor", "load_users", "token_line", "user_line"]
