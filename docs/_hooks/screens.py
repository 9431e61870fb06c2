"""Pictures of terminals: what a command printed there, colours included, as an SVG that fetches no font."""

from __future__ import annotations

import io
import re
from html import escape, unescape

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

COLUMNS = 80
THEME = TerminalTheme(
    (24, 27, 33),
    (222, 225, 230),
    [
        (24, 27, 33),
        (240, 113, 120),
        (126, 211, 133),
        (229, 192, 107),
        (112, 174, 255),
        (208, 145, 235),
        (95, 205, 215),
        (222, 225, 230),
    ],
    [
        (125, 133, 145),
        (255, 140, 145),
        (150, 230, 155),
        (245, 210, 130),
        (140, 190, 255),
        (225, 170, 245),
        (125, 220, 230),
        (255, 255, 255),
    ],
)
FRAME = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">
<desc>WORDS</desc>
<style>.{unique_id}-matrix {{ font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: {char_height}px; line-height: {line_height}px; font-variant-east-asian: full-width }}
{styles}</style>
<defs>{lines}</defs>
<rect width="100%" height="100%" rx="8" fill="#181b21"/>
<g transform="translate({terminal_x}, 16)">{backgrounds}<g class="{unique_id}-matrix">{matrix}</g></g>
</svg>
"""
WORDS = re.compile(r"<desc>(.*?)</desc>", re.DOTALL)


def drawn(command: str, printed: str) -> str:
    """Return the picture of a terminal.

    Args:
        command: as typed.
        printed: what the terminal was sent, with its escape sequences for colours.
    """
    shown = Text.from_ansi(f"\x1b[1m$ {command}\x1b[0m\n{printed}")
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True, color_system="standard")
    console.print(shown, soft_wrap=False)
    picture = console.export_svg(theme=THEME, code_format=FRAME, unique_id="t", font_aspect_ratio=0.61)
    return picture.replace("WORDS", escape(shown.plain, quote=False), 1)


def said(picture: str) -> str:
    """Return the words that a picture shows."""
    found = WORDS.search(picture)
    return unescape(found[1]) if found else ""
