"""HTML and SVG made of elements, so that all text is escaped.

Labels, paths and names come from archives and command lines: a page must not execute them.
"""

import base64
import hashlib
from html import escape

from audioloom_stage.escapes import printable

_VOID = frozenset({"meta"})


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
        f' {key.rstrip("_").replace("_", "-")}="{_escaped(_number(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _VOID:
        return Markup(f"<{name}{given}>")
    return Markup(f"<{name}{given}>{joined(*children)}</{name}>")


def joined(*children: Child) -> Markup:
    """Concatenate children."""
    return Markup("".join(_child(child) for child in children if child is not None))


def page(title: str, style: str, *body: Child) -> Markup:
    """Make a whole document whose content policy forbids it to load or run anything.

    Of CSS the policy allows only the bytes of *style*, which come from this program.
    """
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name_="viewport", content="width=device-width, initial-scale=1"),
        element("title", title),
        element("style", Markup(style)),
    )
    whole = element("html", head, "\n", element("body", *body), lang="en")
    return Markup(f"<!DOCTYPE html>\n{whole}\n")


def _child(child: str) -> str:
    return child if isinstance(child, Markup) else _escaped(child)


def _escaped(text: str) -> str:
    """Escape text, and write invisible characters, such as direction marks, in ASCII."""
    return escape(printable(text, lines=True), quote=True)


def _number(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:.6g}"
