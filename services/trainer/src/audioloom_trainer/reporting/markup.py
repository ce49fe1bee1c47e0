"""HTML and SVG made of elements, so that text is text: nothing gets in that was not escaped.

Labels, paths and names come from archives and command lines; a page must show them, not obey them.
"""

import base64
import hashlib
from html import escape

from audioloom_stage import printable

_VOID = frozenset({"meta"})


class Markup(str):
    """Text that is markup already; only `element` and `joined` make it."""

    __slots__ = ()


Child = str | None
"""What goes into an element: markup as it is, any other text escaped, None not at all."""


def element(name: str, *children: Child, **attributes: str | float | None) -> Markup:
    """An element.

    Args:
        name: of the element; from this program, never from data.
        children: what is in it.
        attributes: `class_` stands for class, `font_size` for font-size; None leaves one out.
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
    """Children one after the other."""
    return Markup("".join(_child(child) for child in children if child is not None))


def page(title: str, style: str, *body: Child) -> Markup:
    """A whole document that loads nothing and runs nothing: a policy in its head forbids it.

    Args:
        title: of the document.
        style: CSS of this program; the policy allows these bytes alone.
        body: what is in it.
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
    """What cannot be seen, such as what turns the direction of reading, is told in ASCII."""
    return escape(printable(text, lines=True), quote=True)


def _number(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:.6g}"
