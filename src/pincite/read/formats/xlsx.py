"""Excel workbooks: sheets as they are shown, formulas by the values that were kept of them.

Numbers are written as a workbook shows them, by its format codes; dates are serial numbers.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from functools import lru_cache

from pincite.model.addresses import column_number
from pincite.model.types import ReaderWarning
from pincite.read.extracted import ExtractedText
from pincite.read.formats.archive import Archive
from pincite.read.formats.blocks import MAX_CELLS, BlockWriter, titled
from pincite.read.formats.docx_parts import related_parts, whole_office_file
from pincite.read.formats.sheets import SheetCell, SheetGrid, SheetWriter
from pincite.read.formats.xml import Element, elements, local_name

# The codes that files name by number alone; 14 to 22 depend on the country, so dates are ISO.
BUILT_IN = {
    0: "General", 1: "0", 2: "0.00", 3: "#,##0", 4: "#,##0.00", 9: "0%", 10: "0.00%",
    11: "0.00E+00", 14: "yyyy-mm-dd", 15: "d-mmm-yy", 16: "d-mmm", 17: "mmm-yy", 18: "h:mm AM/PM",
    19: "h:mm:ss AM/PM", 20: "h:mm", 21: "h:mm:ss", 22: "yyyy-mm-dd h:mm", 37: "#,##0;(#,##0)",
    38: "#,##0;(#,##0)", 39: "#,##0.00;(#,##0.00)", 40: "#,##0.00;(#,##0.00)", 45: "mm:ss",
    46: "[h]:mm:ss", 47: "mm:ss.0", 48: "##0.0E+0", 49: "@",
}  # fmt: skip
MAX_CODE = 255  # characters, as Excel allows
_TOKEN = re.compile(
    r'"(?P<quoted>[^"]*)"?|\\(?P<escaped>.)|_.|\*.|\[\$(?P<money>[^\]-]{0,99}+)[^\]]{0,99}+\]'
    r"|\[(?P<elapsed>[hms]+)\]|\[[^\]]{0,99}+\]|(?P<clock>AM/PM|A/P)|(?P<date>[ymdhs]+|\.0+(?=[^0#]|$))"
    r"|(?P<number>[#0?][#0?,.]*|\.[#0?]+)(?P<power>E[+-]0+)?|(?P<other>.)",
    re.IGNORECASE | re.DOTALL,
)
_MONTHS = "January February March April May June July August September October November December"
_DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday"
_LAST_DAY = 2_958_466  # of the year 9999


def general(number: float) -> str:
    """Return a number in full, without a useless fraction or power.

    >>> general(1200.0), general(0.1), general(1e21), general(float("inf"))
    ('1200', '0.1', '1E+21', '')
    """
    if not math.isfinite(number):
        return ""
    if number == int(number) and abs(number) < 1e15:
        return str(int(number))
    return f"{number:.15g}".upper()


@lru_cache(maxsize=4096)
def is_date(code: str) -> bool:
    """Tell whether a code shows a date or a time.

    >>> is_date("d-mmm-yy"), is_date('0.0 "days"'), is_date("[h]:mm")
    (True, False, True)
    """
    found = list(_TOKEN.finditer(_sections(code)[0]))
    has_date = any((m["date"] or "").strip(".0") or m["elapsed"] for m in found)
    return has_date and not any(m["number"] and set(m["number"]) & set("#?") for m in found)


@lru_cache(maxsize=4096)
def _sections(code: str) -> tuple[str, ...]:
    """Return the parts of a code for positive and negative numbers, zero and text."""
    parts, start = [], 0
    for match in re.finditer(r'"[^"]*"?|\\.|(?P<cut>;)', code[:MAX_CODE], re.DOTALL):
        if match["cut"]:
            parts.append(code[start : match.start()])
            start = match.end()
    return (*parts, code[start:MAX_CODE])


def shown_number(number: float, code: str, *, since_1904: bool = False) -> str:
    """Return a number in a format.

    >>> shown_number(0.125, "0.0%"), shown_number(-1234.5, '"$"#,##0.00;[Red]("$"#,##0.00)')
    ('12.5%', '($1,234.50)')
    >>> shown_number(45413, "dd/mm/yyyy"), shown_number(0.75, "h:mm AM/PM")
    ('01/05/2024', '6:00 PM')
    >>> shown_number(4, '0 "kg"')
    '4 kg'
    """
    sections = _sections(code)
    if not math.isfinite(number) or code in ("", "General", "@") or "[<" in code or "[>" in code:
        return general(number)
    if is_date(code):
        return _moment(number, sections[0], since_1904)
    if number < 0 and len(sections) > 1:
        return _number(-number, sections[1])
    if number == 0 and len(sections) > 2:
        return _number(0.0, sections[2])
    return _number(number, sections[0])


def _number(number: float, section: str) -> str:
    """Return a number by one part of a code; by hand where the code is beyond this."""
    tokens = list(_TOKEN.finditer(section))
    patterns = [match for match in tokens if match["number"]]
    words = "".join(match["other"] or "" for match in tokens)
    if "general" in section.lower() or "/" in words or len(patterns) > 1 or "@" in words:
        return general(number)
    percent = 100.0 ** words.count("%")
    out = ""
    for match in tokens:
        if match["number"]:
            out += _digits(number * percent, match["number"], match["power"] or "")
        else:
            out += _literal(match)
    return out.strip() or ("" if not section.strip(";") else out)


def _literal(match: re.Match[str]) -> str:
    parts = ("quoted", "escaped", "money", "other", "date", "clock")
    return next((match[part] for part in parts if match[part]), "" if match[0][0] != "_" else " ")


def _digits(number: float, pattern: str, power: str) -> str:
    scaled = pattern.rstrip(",")
    number /= 1000.0 ** (len(pattern) - len(scaled))
    whole, _, fraction = scaled.partition(".")
    places = sum(sign in "0#?" for sign in fraction)
    if power:
        mantissa, _, exponent = f"{number:.{places}E}".partition("E")
        return f"{mantissa}E{exponent if '+' in power else exponent.lstrip('+')}"
    text = f"{_half_up(number, places):{',' if ',' in whole else ''}.{places}f}"
    optional = len(fraction) - len(fraction.rstrip("#?"))
    if optional and "." in text:
        kept = len(text) - optional
        text = (text[:kept] + text[kept:].rstrip("0")).rstrip(".")
    zeros = whole.count("0") - len(text.split(".")[0].strip("-"))
    if zeros > 0 and "," not in whole:
        text = f"-{'0' * zeros}{text[1:]}" if text[0] == "-" else "0" * zeros + text
    return text[1:] if text.startswith("0.") and "0" not in whole else text


def _half_up(number: float, places: int) -> float:
    """Return a number that is rounded as workbooks round: 2.5 to 3, 1.005 to 1.01."""
    shifted = float(f"{abs(number):.15g}e{places}") if abs(number) < 1e15 else math.inf
    if math.isinf(shifted):
        return number
    return math.copysign(math.floor(shifted + 0.5) / 10**places, number)


def _moment(number: float, section: str, since_1904: bool) -> str:
    if not 0 <= number < _LAST_DAY:
        return general(number)
    # The year 1900 had no 29 February, but the count of days has one.
    first = datetime(1904, 1, 1) if since_1904 else datetime(1899, 12, 30)
    moment = first + timedelta(days=number + (number < 60 and not since_1904))
    moment = (moment + timedelta(milliseconds=500)).replace(microsecond=0)
    tokens = list(_TOKEN.finditer(section))
    has_clock = any(match["clock"] for match in tokens)
    out, after_hour = "", False
    for at, match in enumerate(tokens):
        part = (match["date"] or "").lower()
        if match["elapsed"]:
            out += str(
                int(
                    round(number * 86400)
                    // {"h": 3600, "m": 60, "s": 1}[match["elapsed"][0].lower()]
                )
            )
        elif part and not part.startswith("."):
            follows = next((m["date"] for m in tokens[at + 1 :] if m["date"]), "") or ""
            is_minute = part[0] == "m" and (after_hour or follows.lower().startswith("s"))
            out += _part(moment, "n" * len(part) if is_minute else part, has_clock)
        elif match["clock"]:
            out += "AM" if moment.hour < 12 else "PM"
        elif not part and not match["number"]:
            out += _literal(match)
        if part or match["elapsed"]:
            after_hour = (part or match["elapsed"].lower())[0] == "h"
    return out.strip()


def _part(moment: datetime, part: str, has_clock: bool) -> str:
    """Return one part of a date; minutes are called n."""
    letter, length = part[0], len(part)
    if letter == "y":
        return f"{moment.year:04d}" if length > 2 else f"{moment.year % 100:02d}"
    if letter in "md" and length > 2:
        month, day = _MONTHS.split()[moment.month - 1], _DAYS.split()[moment.weekday()]
        name = month if letter == "m" else day
        return name if length == 4 else name[:1] if length == 5 else name[:3]
    hour = (moment.hour % 12 or 12) if has_clock else moment.hour
    values = {"m": moment.month, "d": moment.day, "h": hour, "n": moment.minute, "s": moment.second}
    return f"{values[letter]:0{min(length, 2)}d}"


_PLACE = re.compile(r"\$?([A-Z]{1,3})\$?([1-9]\d{0,6})")
_MAX_ROW, _MAX_COLUMN = 1_048_576, 16_384


def read(data: bytes, name: str) -> ExtractedText:
    """Return the sheets that are shown, each under its name."""
    whole_office_file(data, name, "xls", "xlsx")
    archive = Archive(data, name, "XLSX")
    main = related_parts(archive, "").first("officeDocument") or "xl/workbook.xml"
    book = archive.part(main)
    if book is None:
        raise archive.broken(f"it has no {main}")
    parts = related_parts(archive, main)
    shared = archive.part(parts.first("sharedStrings"))
    values = _CellValues(
        [_string(each) for each in elements(shared)] if shared is not None else [],
        _formats(archive.part(parts.first("styles"))),
        since_1904=any(e.get("date1904") in ("1", "true") for e in book.iter("{*}workbookPr")),
    )
    writer = BlockWriter(name)
    title = titled(name)
    writer.heading(1, title)
    sheets = SheetWriter(writer)
    for sheet in book.iter("{*}sheet"):
        target = next((v for k, v in sheet.attrib.items() if k.endswith("}id")), "")
        if sheet.get("state", "visible") != "visible":
            message = f"sheet {sheet.get('name', '')!r} is hidden and was left out"
            writer.find(ReaderWarning("hidden_text", message))
        elif (root := archive.part(parts.by_id.get(target, ""))) is not None:
            sheets.sheet(_grid(root, sheet.get("name", ""), values, writer))
    return replace(writer.parsed(title), identifiers=sheets.identifiers)


class _CellValues:
    """Says what a cell shows."""

    def __init__(self, strings: list[str], formats: list[str], *, since_1904: bool) -> None:
        self.strings, self.formats, self.since_1904 = strings, formats, since_1904
        self.kinds: dict[str, Callable[[str], SheetCell]] = {
            "s": lambda words: SheetCell(_at(self.strings, words)),
            "b": lambda words: SheetCell("TRUE" if words.strip() == "1" else "FALSE"),
            "str": SheetCell,
            "e": SheetCell,
            "d": SheetCell,
        }

    def of(self, cell: Element) -> SheetCell:
        words = ""
        for child in cell:  # quicker than a search by name, and there are many cells
            name = local_name(child)
            if name == "is":
                return SheetCell(_string(child))
            words = child.text or "" if name == "v" else words
        kind = cell.get("t", "n")
        if not words or kind in self.kinds:
            return self.kinds[kind](words) if words else SheetCell("")
        try:
            number = float(words)
        except ValueError:
            return SheetCell(words)
        code = _at(self.formats, cell.get("s", "0")) or "General"
        shown = shown_number(number, code, since_1904=self.since_1904)
        return SheetCell(shown, is_number=not is_date(code))


def _at(values: list[str], number: str) -> str:
    at = int(number) if number.strip().isdecimal() and len(number) < 10 else -1
    return values[at] if 0 <= at < len(values) else ""


def _string(element: Element) -> str:
    """Return the words of a string without how they are pronounced."""
    return "".join(
        text.text or "" for text in element.iter("{*}t") if local_name(text.getparent()) != "rPh"
    )


def _formats(styles: Element | None) -> list[str]:
    """Return the format code of each cell style."""
    if styles is None:
        return []
    codes = {str(number): code for number, code in BUILT_IN.items()}
    codes |= {e.get("numFmtId", ""): e.get("formatCode", "") for e in styles.iter("{*}numFmt")}
    return [
        codes.get(e.get("numFmtId", "0"), "General") for e in styles.iterfind("{*}cellXfs/{*}xf")
    ]


def _grid(root: Element, name: str, values: _CellValues, writer: BlockWriter) -> SheetGrid:
    grid = SheetGrid(name)
    for row, column, cell in _cells(root):
        if grid.cells >= MAX_CELLS:
            message = f"sheet {name!r} from row {row + 1:,} on: more than {MAX_CELLS:,} cells"
            writer.find(ReaderWarning("skipped_content", message))
            break
        grid.put(row, column, values.of(cell))
    for merged in root.iterfind("{*}mergeCells/{*}mergeCell"):
        first, _, last = merged.get("ref", "").partition(":")
        if (one := _PLACE.fullmatch(first)) and (other := _PLACE.fullmatch(last)):
            corners = (int(one[2]) - 1, column_number(one[1]))
            grid.merged.append((*corners, int(other[2]) - 1, column_number(other[1])))
    return grid


def _cells(root: Element) -> Iterator[tuple[int, int, Element]]:
    """Yield the cells with row and column, which the file need not write out."""
    row = column = -1
    for line in root.iterfind("{*}sheetData/{*}row"):
        number = line.get("r", "")
        row = int(number) - 1 if number.isdecimal() and len(number) < 8 else row + 1
        column = -1
        for cell in elements(line):
            place = _PLACE.fullmatch(cell.get("r", ""))
            column = column_number(place[1]) if place else column + 1
            if row < _MAX_ROW and column < _MAX_COLUMN:
                yield row, column, cell
