"""The error that is meant for people: one line that says what, where and what would be right."""

__all__ = ["UserError"]


class UserError(Exception):
    """Bad input or a missing thing. The command line prints it in one line and exits with code 2.

    The message names what was wrong, where, and what would be right.
    """
