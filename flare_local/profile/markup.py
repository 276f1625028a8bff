"""Texts of models, documents and questions on their way into a page: data, never markup."""

from html import escape

from flare_local.trace.safe_text import safe_line


def escaped(text: str) -> str:
    """`text` for a page, in an element or a quoted attribute; what could steer a reader's eye is shown as an escape."""
    return escape(safe_line(text), quote=True)
