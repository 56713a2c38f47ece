"""Charts as inline SVG: numbers in, markup out. Every text is escaped, colours are classes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape

from markupsafe import Markup

Point = tuple[float, float]
# Name, milliseconds p50 and p95, value, low, high.
Spot = tuple[str, float, float, float, float, float]
Ticks = Iterable[tuple[float, str]]  # share of the axis, and what is written there
LEFT, TOP, WIDTH, HEIGHT = 46, 28, 520, 274
RANKS = (1, 2, 5, 10, 20, 50, 100, 200, 500)


def interval(low: float, value: float, high: float, series: int) -> Markup:
    """Return a line from 0 to 1 with the interval and a dot."""
    width, middle = 220, 9

    def x(share: float) -> float:
        return round(6 + (width - 12) * min(1.0, max(0.0, share)), 1)

    ticks = "".join(_line("grid", x(at), x(at), 1, 17) for at in (0, 0.25, 0.5, 0.75, 1))
    return Markup(
        f'<svg class="interval s{series}" viewBox="0 0 {width} 18" width="{width}" height="18" '
        f'role="img" aria-label="{value:.3f}, from {low:.3f} to {high:.3f}">{ticks}'
        f'<line class="range" x1="{x(low)}" x2="{x(high)}" y1="{middle}" y2="{middle}"/>'
        f'<circle class="dot" cx="{x(value)}" cy="{middle}" r="4.5"/></svg>'
    )


def lines(curves: Mapping[str, Sequence[Point]], *, x_title: str, y_title: str) -> Markup:
    """Return curves over a logarithmic axis of ranks, from the lowest value that is needed to 1."""
    deepest = max((x for points in curves.values() for x, _ in points), default=1)
    floor = _floor(y for points in curves.values() for _, y in points)

    def x_of(rank: float) -> float:
        return math.log(rank) / math.log(max(2, deepest))

    drawn = [_axes([(x_of(r), str(r)) for r in RANKS if r <= deepest], _tenths(floor))]
    for series, (name, points) in enumerate(curves.items()):
        dots = [(x_of(x), _above(floor, y), f"{name}: {y:.3f} at {x:g}") for x, y in points]
        drawn.append(_curve(series, dots, radius=3))
    return _chart(drawn, x_title, y_title)


def plot(
    curves: Mapping[str, Sequence[Point]],
    *,
    x_title: str,
    y_title: str,
    x_max: float = 1.0,
    y_max: float = 1.0,
    diagonal: bool = False,
) -> Markup:
    """Return curves over straight axes that begin at 0."""
    quarters = [step / 4 for step in range(5)]
    x_ticks, y_ticks = ([(q, f"{most * q:g}") for q in quarters] for most in (x_max, y_max))
    drawn = [_axes(x_ticks, y_ticks)]
    if diagonal:
        drawn.append(_line("diagonal", _x(0), _x(1), _y(0), _y(1)))
    for series, (name, points) in enumerate(curves.items()):
        dots = [(x / x_max, min(1.0, y / y_max), f"{name}: {y:.3g} at {x:.3g}") for x, y in points]
        drawn.append(_curve(series, dots, radius=2.5))
    return _chart(drawn, x_title, y_title)


def cost(spots: Sequence[Spot], *, y_title: str) -> Markup:
    """Return quality over time."""
    scale = nice((max((p95 for _, _, p95, *_ in spots), default=1.0) or 1.0) * 1.05)
    floor = _floor(low for *_, low, _ in spots)
    drawn = [_axes([(q / 4, f"{scale * q / 4:g}") for q in range(5)], _tenths(floor))]
    for series, (name, p50, p95, value, low, high) in enumerate(spots):
        x, y = _x(min(1.0, p50 / scale)), _y(_above(floor, value))
        words = f"{name}: {value:.3f} in {p50:.1f} ms, 95 % within {p95:.1f} ms"
        thin = _line("thin", x, _x(min(1.0, p95 / scale)), y, y)
        span = _line("range", x, x, _y(_above(floor, low)), _y(_above(floor, high)))
        drawn.append(f'<g class="s{series % 8}">{thin}{span}{_dot(x, y, 5, words)}</g>')
    x_title = "milliseconds (dot: median, line: to the 95th percentile)"
    return _chart(drawn, x_title, y_title, "quality over time")


def waterfall(losses: Mapping[str, int], total: int, series: int) -> Markup:
    """Return how many answers are left after each cause of loss, down to those that are found."""
    rows, left = [("all questions", total, 0, "whole")], total
    for cause, count in losses.items():
        rows.append((cause, left, count, "lost"))
        left -= count
    rows.append(("found", left, 0, "found"))
    name, width, line = 150, 520, 24
    scale = (width - name - 60) / max(1, total)
    parts = []
    for at, (label, upper, count, kind) in enumerate(rows):
        y = 4 + at * line
        start = (upper - count) * scale if kind == "lost" else 0
        size = (count if kind == "lost" else upper) * scale
        text = f"−{count}" if kind == "lost" and count else "0" if kind == "lost" else str(upper)
        quiet = " quiet" if kind == "lost" and not count else ""
        parts.append(
            f'<text class="label{quiet}" x="{name - 8}" y="{y + 14}" text-anchor="end">'
            f'{escape(label)}</text><rect class="{kind}" x="{name + start:.1f}" y="{y + 2}" '
            f'width="{max(size, 1):.1f}" height="15" rx="2"/><text class="tick{quiet}" '
            f'x="{name + start + size + 6:.1f}" y="{y + 14}">{text}</text>'
        )
    height = 8 + len(rows) * line
    return _svg(parts, width, height, "where answers are lost", f"waterfall s{series % 8}")


def bars(rows: Sequence[tuple[str, float, str]], *, title: str, series: int = 0) -> Markup:
    """Return one bar a row: name, value from 0, and the value in words."""
    name, width, line = 170, 520, 22
    most = max((value for _, value, _ in rows), default=0.0) or 1.0
    parts = []
    for at, (label, value, words) in enumerate(rows):
        y, size = 2 + at * line, (width - name - 70) * value / most
        parts.append(
            f'<text class="label" x="{name - 8}" y="{y + 14}" text-anchor="end">{escape(label)}'
            f'</text><rect class="found" x="{name}" y="{y + 3}" width="{max(size, 1):.1f}" '
            f'height="13" rx="2"/><text class="tick" x="{name + size + 6:.1f}" y="{y + 14}">'
            f"{escape(words)}</text>"
        )
    return _svg(parts, width, 4 + len(rows) * line, title, f"waterfall s{series % 8}")


def columns(values: Sequence[tuple[float, float]], *, title: str, unit: str) -> Markup:
    """Return columns over time, newest at the right: of each the whole and the bad part."""
    width, height, base = 520, 120, 100
    most = nice(max((whole for whole, _ in values), default=0.0) or 1.0)
    step = (width - 46) / max(1, len(values))
    parts = [
        f'<line class="grid" x1="40" x2="{width}" y1="{y}" y2="{y}"/>'
        f'<text class="tick" x="34" y="{y + 4}" text-anchor="end">{value:g}</text>'
        for y, value in ((10, most), (base, 0))
    ]
    for at, (whole, bad) in enumerate(values):
        x = 42 + at * step
        for kind, value in (("found", whole), ("lost", bad)):
            size = (base - 10) * value / most
            if value:
                parts.append(
                    f'<rect class="{kind}" x="{x:.1f}" y="{base - size:.1f}" '
                    f'width="{max(1.0, step - 1.5):.1f}" height="{size:.1f}"/>'
                )
    parts.append(
        f'<text class="title" x="{width - 4}" y="{height - 4}" text-anchor="end">now</text>'
        f'<text class="title" x="40" y="{height - 4}">{escape(unit)}</text>'
    )
    return _svg(parts, width, height, title, "chart s0")


def _floor(values: Iterable[float]) -> float:
    """Return the tenth below all values, with some air, at which an axis begins."""
    return max(0.0, math.floor(10 * min(values, default=0.0) - 0.5) / 10)


def _above(floor: float, value: float) -> float:
    return (value - floor) / (1 - floor) if floor < 1 else 0.0


def _tenths(floor: float) -> Ticks:
    """Return the ticks of an axis from a tenth to 1: every tenth, or every other of many."""
    steps = max(1, round((1 - floor) * 10))
    values = [1 - step / 10 for step in range(0, steps + 1, 1 if steps <= 5 else 2)]
    return [(_above(floor, value), f"{value:.1f}") for value in values]


def _x(share: float) -> float:
    return round(LEFT + share * (WIDTH - LEFT - 16), 1)


def _y(share: float) -> float:
    return round(TOP + (1 - share) * (HEIGHT - TOP - 44), 1)


def _axes(x_ticks: Ticks, y_ticks: Ticks) -> str:
    across = [
        f'<text class="tick" x="{_x(share)}" y="{HEIGHT - 26}" text-anchor="middle">{words}</text>'
        for share, words in x_ticks
    ]
    up = [
        _line("grid", LEFT, WIDTH - 16, _y(share), _y(share))
        + f'<text class="tick" x="{LEFT - 8}" y="{_y(share) + 4}" text-anchor="end">{words}</text>'
        for share, words in y_ticks
    ]
    return "".join(up + across)


def _curve(series: int, dots: Sequence[tuple[float, float, str]], radius: float) -> str:
    path = " ".join(f"{_x(x)},{_y(y)}" for x, y, _ in dots)
    drawn = "".join(_dot(_x(x), _y(y), radius, words) for x, y, words in dots)
    return f'<g class="s{series % 8}"><polyline class="line" points="{path}"/>{drawn}</g>'


def _dot(x: float, y: float, radius: float, words: str) -> str:
    title = f"<title>{escape(words)}</title>"
    return f'<circle class="dot" cx="{x}" cy="{y}" r="{radius:g}">{title}</circle>'


def _line(kind: str, x1: float, x2: float, y1: float, y2: float) -> str:
    return f'<line class="{kind}" x1="{x1}" x2="{x2}" y1="{y1}" y2="{y2}"/>'


def _chart(drawn: Iterable[str], x_title: str, y_title: str, label: str = "") -> Markup:
    titles = (
        f'<text class="title" x="{(LEFT + WIDTH) / 2}" y="{HEIGHT - 6}" text-anchor="middle">'
        f"{escape(x_title)}</text>"
    )
    if y_title:
        titles += f'<text class="title" x="4" y="10">{escape(y_title)}</text>'
    return _svg([*drawn, titles], WIDTH, HEIGHT, label or f"{y_title} by {x_title}")


def _svg(
    parts: Iterable[str], width: float, height: float, label: str, kind: str = "chart"
) -> Markup:
    return Markup(
        f'<svg class="{kind}" viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="{escape(label)}">{"".join(parts)}</svg>'
    )


def nice(value: float) -> float:
    """Return the next round number.

    >>> nice(37.0), nice(0.9)
    (40.0, 1.0)
    """
    size = 10 ** math.floor(math.log10(value)) if value > 0 else 1.0
    steps = (size * step for step in (1, 1.2, 1.6, 2, 2.4, 3.2, 4, 5, 6, 8, 10))
    return float(next(step for step in steps if step >= value))
