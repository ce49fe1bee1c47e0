"""HTML and SVG made of elements, so that all text is escaped.

Labels, paths and names come from archives and command lines: a page must not execute them.
"""

import base64
import hashlib
import json
from html import escape
from importlib.resources import files
from typing import Any

from audioloom_stage.escapes import printable

_VOID = frozenset({"input", "meta"})
# Of all pages: light and dark, for screens of any width and for paper.
_STYLE = "\n" + (files("audioloom_runs.pages") / "pages.css").read_text(encoding="utf-8")


class Markup(str):
    """Text that is already markup; only `element` and `joined` create it."""

    __slots__ = ()


Child = str | None
"""What goes into an element: markup as it is, any other text escaped, None not at all."""


def element(name: str, *children: Child, **attributes: str | float | None) -> Markup:
    """Make an element, whose name never comes from data.

    The attribute `class_` stands for class, `font_size` for font-size; None omits an attribute.
    """
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="'
        f'{_escaped(value if isinstance(value, str) else f"{value:.6g}")}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _VOID:
        return Markup(f"<{name}{given}>")
    return Markup(f"<{name}{given}>{joined(*children)}</{name}>")


def joined(*children: Child) -> Markup:
    """Concatenate children."""
    shown = (child for child in children if child is not None)
    return Markup("".join(c if isinstance(c, Markup) else _escaped(c) for c in shown))


def page(title: str, style: str, *body: Child, script: str = "") -> Markup:
    """Make a whole document, in the style of all pages, that may not load anything.

    Of CSS and JavaScript its content policy allows only the bytes of the style, with more of it for
    this page, and of *script*, which come from this program.
    """
    style = _STYLE + style
    allowed = [
        f"style-src {_digest(style)}",
        *([f"script-src {_digest(script)}"] if script else ()),
    ]
    policy = "; ".join(["default-src 'none'", *allowed, "base-uri 'none'", "form-action 'none'"])
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name_="viewport", content="width=device-width, initial-scale=1"),
        element("title", title),
        element("style", Markup(style)),
    )
    last = element("script", Markup(script)) if script else None
    whole = element("html", head, "\n", element("body", *body, last), lang="en")
    return Markup(f"<!DOCTYPE html>\n{whole}\n")


def data(name: str, value: Any) -> Markup:
    """Make a block of JSON, which a script of the page reads and no browser runs."""
    text = json.dumps(value, separators=(",", ":")).replace("<", r"\u003c")
    return element("script", Markup(text), id=name, type="application/json")


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _escaped(text: str) -> str:
    """Escape text, and write invisible characters, such as direction marks, in ASCII."""
    return escape(printable(text, lines=True), quote=True)
