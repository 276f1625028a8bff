"""Timelines of the page, as SVG."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from flare_local.profile.account import Piece
from flare_local.profile.markup import escaped
from flare_local.profile.names import LABELS
from flare_local.profile.style import COLOURS

LEFT, WIDTH = 92, 1008  # of the lanes, in units of the picture
LANE, GAP = 22, 6  # height of a lane, and between two
TICKS = (1, 2, 5)
LETTER = 6.4  # width of a letter


@dataclass(frozen=True)
class Block:
    """A stretch of time in a lane."""

    began: int  # ns
    ended: int
    colour: str
    tip: str
    label: str = ""  # shown where it fits
    least: float = 0.7  # width, in units of the picture: even the shortest is seen


@dataclass(frozen=True)
class Lane:
    """One row."""

    name: str
    blocks: Sequence[Block]


def drawing(lanes: Sequence[Lane], began: int, ended: int) -> str:
    """The lanes over a scale of seconds since `began`."""
    height = len(lanes) * (LANE + GAP) + 22
    parts = [f'<svg viewBox="0 0 {LEFT + WIDTH + 12} {height}" role="img">']
    parts += [
        f'<rect class="lane" x="{LEFT}" y="{row * (LANE + GAP)}" width="{WIDTH}" height="{LANE}" rx="3"/>'
        for row in range(len(lanes))
    ]
    parts += _scale(began, ended, height)
    for row, lane in enumerate(lanes):
        top = row * (LANE + GAP)
        parts.append(f'<text x="0" y="{top + 15}">{escaped(lane.name)}</text>')
        for block in lane.blocks:
            parts += _block(block, top, began, ended)
    return "".join(parts) + "</svg>"


def blocks_of(pieces: Iterable[Piece], right: Mapping[int, str]) -> list[Block]:
    """Own times as blocks. `right`: by id of a forward's span, what is to be said of its proposals."""
    made: list[Block] = []
    for piece in pieces:
        span = piece.span
        tokens = f", {span.about['tokens']} tokens" if isinstance(span.about.get("tokens"), int) else ""
        tip = f"{LABELS[span.kind]} {duration(piece.ended - piece.began)}{tokens}{right.get(id(span), '')}"
        made.append(Block(piece.began, piece.ended, COLOURS[span.kind], tip))
    return made


def duration(nanoseconds: int) -> str:
    """Seconds from half a second on, else milliseconds."""
    return f"{nanoseconds / 1e9:,.2f} s" if nanoseconds >= 5e8 else f"{nanoseconds / 1e6:.1f} ms"


def merged(pieces: Sequence[Piece], gap: int) -> list[Piece]:
    """Pieces of one colour that are less than `gap` ns apart, made one, so that a page stays small."""
    made: list[Piece] = []
    for piece in pieces:
        last = made[-1] if made else None
        if last is not None and piece.began - last.ended < gap and _colour(last) == _colour(piece):
            made[-1] = Piece(last.span, last.began, max(last.ended, piece.ended))
        else:
            made.append(piece)
    return made


def _colour(piece: Piece) -> str:
    return COLOURS[piece.span.kind]


def _block(block: Block, top: int, began: int, ended: int) -> Iterator[str]:
    at, end = _x(block.began, began, ended), _x(block.ended, began, ended)
    width = max(block.least, end - at)
    yield (
        f'<rect x="{at:.2f}" y="{top}" width="{width:.2f}" height="{LANE}" fill="{block.colour}" rx="1.5">'
        f"<title>{escaped(block.tip)}</title></rect>"
    )
    if block.label and len(block.label) * LETTER + 8 < width:
        yield f'<text class="on" x="{at + 5:.2f}" y="{top + 15}">{escaped(block.label)}</text>'


def _scale(began: int, ended: int, height: int) -> Iterator[str]:
    length = max(1, ended - began) / 1e9  # seconds
    step = next(s for s in (base * 10.0**power for power in range(-6, 6) for base in TICKS) if length / s <= 10)
    for number in range(int(length / step) + 1):
        x = _x(began + round(number * step * 1e9), began, ended)
        yield f'<line class="grid" x1="{x:.1f}" y1="0" x2="{x:.1f}" y2="{height - 18}"/>'
        yield f'<text x="{x + 3:.1f}" y="{height - 6}">{number * step:g} s</text>'


def _x(moment: int, began: int, ended: int) -> float:
    return LEFT + WIDTH * (min(max(moment, began), ended) - began) / max(1, ended - began)
