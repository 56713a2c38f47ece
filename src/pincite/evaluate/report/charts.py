"""Charts as inline SVG: numbers in, markup out. Every text is escaped, colours are classes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from html import escape

Point = tuple[float, float]


def interval(low: float, value: float, high: float, series: int) -> str:
    """Return a line from 0 to 1 with the interval and a dot."""
    width, middle = 220, 9

    def x(share: float) -> float:
        return round(6 + (width - 12) * min(1.0, max(0.0, share)), 1)

    ticks = "".join(
        f'<line class="grid" x1="{x(t)}" x2="{x(t)}" y1="1" y2="17"/>'
        for t in (0, 0.25, 0.5, 0.75, 1)
    )
    return (
        f'<svg class="interval s{series}" viewBox="0 0 {width} 18" width="{width}" height="18" '
        f'role="img" aria-label="{value:.3f}, from {low:.3f} to {high:.3f}">{ticks}'
        f'<line class="range" x1="{x(low)}" x2="{x(high)}" y1="{middle}" y2="{middle}"/>'
        f'<circle class="dot" cx="{x(value)}" cy="{middle}" r="4.5"/></svg>'
    )


def lines(curves: Mapping[str, Sequence[Point]], *, x_title: str, y_title: str) -> str:
    """Return curves over a logarithmic axis of ranks, from the lowest value that is needed to 1."""
    left, top, width, height = 46, 28, 520, 274
    deepest = max((x for points in curves.values() for x, _ in points), default=1)
    lowest = min((y for points in curves.values() for _, y in points), default=0.0)
    floor = max(0.0, math.floor(10 * lowest - 0.5) / 10)

    def at(point: Point) -> tuple[float, float]:
        x = math.log(point[0]) / math.log(max(2, deepest))
        y = (point[1] - floor) / (1 - floor) if floor < 1 else 0.0
        return round(left + x * (width - left - 16), 1), round(
            top + (1 - y) * (height - top - 44), 1
        )

    parts = [_y_grid(floor, left, width - 16, lambda y: at((1, y))[1])]
    for rank in (1, 2, 5, 10, 20, 50, 100, 200, 500):
        if rank <= deepest:
            x = at((rank, floor))[0]
            parts.append(
                f'<text class="tick" x="{x}" y="{height - 26}" text-anchor="middle">{rank}</text>'
            )
    for series, (name, points) in enumerate(curves.items()):
        spots = [at(point) for point in points]
        path = " ".join(f"{x},{y}" for x, y in spots)
        dots = "".join(
            f'<circle class="dot" cx="{x}" cy="{y}" r="3">'
            f"<title>{escape(name)}: {v:.3f} at {r:g}</title></circle>"
            for (x, y), (r, v) in zip(spots, points, strict=True)
        )
        parts.append(f'<g class="s{series % 8}"><polyline class="line" points="{path}"/>{dots}</g>')
    parts.append(_titles(x_title, y_title, left, width, height))
    return _svg("".join(parts), width, height, f"{y_title} by {x_title}")


def cost(spots: Sequence[tuple[str, float, float, float, float, float]], *, y_title: str) -> str:
    """Return quality over time: name, milliseconds p50 and p95, value, low, high of each."""
    left, top, width, height = 46, 28, 520, 274
    slowest = max((p95 for _, _, p95, *_ in spots), default=1.0) or 1.0
    scale = nice(slowest * 1.05)
    lowest = min((low for *_, low, _ in spots), default=0.0)
    floor = max(0.0, math.floor(10 * lowest - 0.5) / 10)

    def x_of(ms: float) -> float:
        return round(left + min(1.0, ms / scale) * (width - left - 16), 1)

    def y_of(value: float) -> float:
        share = (value - floor) / (1 - floor) if floor < 1 else 0.0
        return round(top + (1 - share) * (height - top - 44), 1)

    parts = [_y_grid(floor, left, width - 16, y_of)]
    for step in range(5):
        ms = scale * step / 4
        parts.append(
            f'<text class="tick" x="{x_of(ms)}" y="{height - 26}" text-anchor="middle">'
            f"{ms:g}</text>"
        )
    for series, (name, p50, p95, value, low, high) in enumerate(spots):
        x, y = x_of(p50), y_of(value)
        parts.append(
            f'<g class="s{series % 8}">'
            f'<line class="thin" x1="{x}" x2="{x_of(p95)}" y1="{y}" y2="{y}"/>'
            f'<line class="range" x1="{x}" x2="{x}" y1="{y_of(low)}" y2="{y_of(high)}"/>'
            f'<circle class="dot" cx="{x}" cy="{y}" r="5"><title>{escape(name)}: {value:.3f} in '
            f"{p50:.1f} ms, 95 % within {p95:.1f} ms</title></circle></g>"
        )
    x_title = "milliseconds (dot: median, line: to the 95th percentile)"
    parts.append(_titles(x_title, y_title, left, width, height))
    return _svg("".join(parts), width, height, "quality over time")


def waterfall(steps: Sequence[tuple[str, int]], total: int, found: int, series: int) -> str:
    """Return how many answers are left after each cause of loss, down to those that are found."""
    rows = [("all questions", total, 0, "whole")]
    left = total
    for cause, count in steps:
        rows.append((cause, left, count, "lost"))
        left -= count
    rows.append(("found", found, 0, "found"))
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
    return _svg("".join(parts), width, height, "where answers are lost", f"waterfall s{series % 8}")


def plot(
    curves: Mapping[str, Sequence[Point]],
    *,
    x_title: str,
    y_title: str,
    x_max: float = 1.0,
    y_max: float = 1.0,
    diagonal: bool = False,
) -> str:
    """Return curves over straight axes that begin at 0."""
    left, top, width, height = 46, 28, 520, 274

    def at(point: Point) -> tuple[float, float]:
        x, y = point[0] / x_max, min(1.0, point[1] / y_max)
        return round(left + x * (width - left - 16), 1), round(
            top + (1 - y) * (height - top - 44), 1
        )

    parts = []
    for step in range(5):
        y = at((0, y_max * step / 4))[1]
        parts.append(
            f'<line class="grid" x1="{left}" x2="{width - 16}" y1="{y}" y2="{y}"/>'
            f'<text class="tick" x="{left - 8}" y="{y + 4}" text-anchor="end">'
            f"{y_max * step / 4:g}</text>"
            f'<text class="tick" x="{at((x_max * step / 4, 0))[0]}" y="{height - 26}" '
            f'text-anchor="middle">{x_max * step / 4:g}</text>'
        )
    if diagonal:
        (x1, y1), (x2, y2) = at((0, 0)), at((x_max, y_max))
        parts.append(f'<line class="diagonal" x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}"/>')
    for series, (name, points) in enumerate(curves.items()):
        spots = [at(point) for point in points]
        path = " ".join(f"{x},{y}" for x, y in spots)
        dots = "".join(
            f'<circle class="dot" cx="{x}" cy="{y}" r="2.5"><title>{escape(name)}: '
            f"{value:.3g} at {where:.3g}</title></circle>"
            for (x, y), (where, value) in zip(spots, points, strict=True)
        )
        parts.append(f'<g class="s{series % 8}"><polyline class="line" points="{path}"/>{dots}</g>')
    parts.append(_titles(x_title, y_title, left, width, height))
    return _svg("".join(parts), width, height, f"{y_title} by {x_title}")


def bars(rows: Sequence[tuple[str, float, str]], *, title: str, series: int = 0) -> str:
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
    return _svg("".join(parts), width, 4 + len(rows) * line, title, f"waterfall s{series % 8}")


def columns(values: Sequence[tuple[float, float]], *, title: str, unit: str) -> str:
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
    return _svg("".join(parts), width, height, title, "chart s0")


def _y_grid(floor: float, left: float, right: float, y_of: Callable[[float], float]) -> str:
    steps = max(1, round((1 - floor) * 10))
    every = 1 if steps <= 5 else 2
    parts = []
    for step in range(0, steps + 1, every):
        value = 1 - step / 10
        y = y_of(value)
        parts.append(
            f'<line class="grid" x1="{left}" x2="{right}" y1="{y}" y2="{y}"/>'
            f'<text class="tick" x="{left - 8}" y="{y + 4}" text-anchor="end">{value:.1f}</text>'
        )
    return "".join(parts)


def _titles(x_title: str, y_title: str, left: float, width: float, height: float) -> str:
    middle = (left + width) / 2
    across = (
        f'<text class="title" x="{middle}" y="{height - 6}" text-anchor="middle">'
        f"{escape(x_title)}</text>"
    )
    return across + (
        f'<text class="title" x="4" y="10">{escape(y_title)}</text>' if y_title else ""
    )


def _svg(content: str, width: float, height: float, label: str, kind: str = "chart") -> str:
    return (
        f'<svg class="{kind}" viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="{escape(label)}">{content}</svg>'
    )


def nice(value: float) -> float:
    """Return the next round number.

    >>> nice(37.0), nice(0.9)
    (40.0, 1.0)
    """
    size = 10 ** math.floor(math.log10(value)) if value > 0 else 1.0
    return float(
        next(
            size * step
            for step in (1, 1.2, 1.6, 2, 2.4, 3.2, 4, 5, 6, 8, 10)
            if size * step >= value
        )
    )
