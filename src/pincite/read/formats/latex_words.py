"""LaTeX in a cell, a caption or a heading as plain words; real formulas stay as they are."""

from __future__ import annotations

import re

# Of escapes and symbols what they show; spaces of all widths are one.
_SHOWN = {
    **{sign: sign for sign in "%$#&_"},
    **dict.fromkeys((",", ";", ":", " ", "!", "quad", "qquad", "hfill", "displaystyle"), " "),
    **dict.fromkeys(("ldots", "cdots", "dots", "dotfill"), "…"),
    **dict.fromkeys(("left", "right", "bf", "it", "rm", "sf", "tt", "em", "cal"), ""),
    **dict(times="×", cdot="·", pm="±", mp="∓", div="÷", sim="~", approx="≈", neq="≠", equiv="≡"),
    **dict(leq="≤", le="≤", leqslant="≤", geq="≥", ge="≥", geqslant="≥", infty="∞", circ="°"),
    **dict(prime="′", checkmark="✓", square="□", bullet="•", dagger="†", ddagger="‡", ast="*"),
    **dict(rightarrow="→", leftarrow="←", uparrow="↑", downarrow="↓", to="→", triangle="△"),
    **dict(blacktriangle="▲", blacktriangleright="▶", star="★", S="§", P="¶", pounds="£"),
    **dict(textregistered="®", texttrademark="™", textdegree="°", copyright="©", euro="€"),
    **dict(alpha="α", beta="β", gamma="γ", delta="δ", epsilon="ε", varepsilon="ε", zeta="ζ"),
    **dict(eta="η", theta="θ", kappa="κ", lambda_="λ", mu="μ", nu="ν", xi="ξ", pi="π", rho="ρ"),
    **dict(sigma="σ", tau="τ", phi="φ", varphi="φ", chi="χ", psi="ψ", omega="ω", Gamma="Γ"),
    **dict(Delta="Δ", Theta="Θ", Lambda="Λ", Pi="Π", Sigma="Σ", Phi="Φ", Psi="Ψ", Omega="Ω"),
}
_SHOWN["lambda"] = _SHOWN.pop("lambda_")
_COMMAND = re.compile(r"\\([A-Za-z]+|[%$#&_,;: !])")
_STYLES = (
    "text(?:bf|it|sc|sl|sf|tt|rm|normal|)|emph|underline|uline|mbox"  # words, with their spaces
)
_FONTS = "mathrm|mathbf|mathit|mathsf|mathtt|mathbb|boldsymbol|operatorname|bm|mathcal"
_FONT = re.compile(rf"\\(?:(?P<style>{_STYLES})|{_FONTS})\s*\{{(?P<words>[^{{}}\\]*)\}}")
_RAISED_WORDS = re.compile(r"\\textsuperscript\s*\{([^{}\\]{1,8})\}")
_STACKED = re.compile(r"\\(?:makecell|shortstack|thead)\s*+(?:\[[^\]]{0,8}\]\s*+)?\{([^{}]*+)\}")
_SPACE = re.compile(r"\\[hv]space\*?\s?\{[^{}\\]{0,20}\}")
_SWITCH = re.compile(r"\{\\(?:bf|it|em|tt|rm|sf|small|footnotesize|scriptsize|large)\b([^{}\\]*)\}")
_NESTED = re.compile(
    r"\\(?:begin|end)\{(?:tabular|array|aligned|gathered|cases|split)\*?\}"
    r"(?:\[[a-z]\])?(?:\{[lcr|@!>< ]{0,60}\})?"
)
_ROW_END = re.compile(r"\\\\(?:\[[^\]]{0,12}\])?|(?<!\\)&")
# Signs of money may stand in pairs: what ends a formula has no space before it, no figure behind.
_MATH = re.compile(
    r"\$\$(?P<block>(?:\\.|[^$\\])++)\$\$|(?<![\\$])\$(?P<inline>(?:\\.|[^$\\])++)(?<!\s)\$(?![\d$])"
    r"|\\\((?P<round>(?:[^\\]|\\(?!\))){0,300}+)\\\)",
    re.DOTALL,
)
_FRACTION = re.compile(r"\\[dt]?frac\s*\{\s*(\d{1,6})\s*\}\s*\{\s*(\d{1,6})\s*\}")
_RAISED = re.compile(
    r"(?P<base>\{ ?\}|) ?\^ ?(?:\{ ?(?P<words>[^{}\\^_]{1,24}?) ?\}|(?P<sign>[^\s{}\\^_]))"
)
_NOTE = re.compile(r"(?:\((?:[A-Za-z]|\d{1,2})(?:, ?(?:[A-Za-z]|\d{1,2})){0,4}\),? ?){1,4}")
_MARK = re.compile(r"[A-Za-z]|\d{1,2}|[*†‡§]{1,3}")
_BESIDE = re.compile(r"[°′*†‡§™®]{1,4}|st|nd|rd|th|TM|o", re.IGNORECASE)
_POWERS = {"2": "²", "3": "³"}
_UNIT = re.compile(r"(?:^|[\s\d/(])(?:[mck]?m|ft|in|yd|mi)\s*$")
_FORMULA = re.compile(r"[\\{}^_]")
_EMPTY = re.compile(r"\{\s*\}")
_MONEY = re.compile(r"([$€£¥]) +(?=[(-]?[\d.]|[-–—]$)")
_PERCENT = re.compile(r"(?<=[\d)]) +%")
_ROUNDS = 4  # of commands within commands


def plain_latex(words: str) -> str:
    r"""Return the words in one line, without commands that only say how they look.

    >>> plain_latex(r"\textbf{Net income} ${ }^{(a)}$"), plain_latex(r"$\mathbf{7 2 9 . 3}$")
    ('Net income (a)', '729.3')
    >>> plain_latex(r"$13 \%$"), plain_latex(r"\$ 5,000"), plain_latex(r"$x_{1}^{2}$")
    ('13%', '$5,000', '$x_{1}^{2}$')
    """
    words = " ".join(words.split())
    if "\\" not in words and "$" not in words:
        return _PERCENT.sub("%", words) if "%" in words else words
    if "\\begin" in words:
        words = _without_rows(words)
    parts: list[str] = []
    at = 0
    for math in _MATH.finditer(words):
        inner = math["block"] or math["inline"] or math["round"] or ""
        shown = _plain_math(inner)
        parts += (_plain_text(words[at : math.start()]), math[0] if shown is None else shown)
        at = math.end()
    words = " ".join("".join([*parts, _plain_text(words[at:])]).split())
    return _PERCENT.sub("%", _MONEY.sub(r"\1", words))


def _without_rows(words: str) -> str:
    """Return the words of a table in a cell without its signs: lines that were broken."""
    return _ROW_END.sub(" ", _NESTED.sub(" ", words)) if _NESTED.search(words) else words


def _plain_text(words: str) -> str:
    if "\\" not in words:
        return words
    words = _SPACE.sub(" ", words) if "space" in words else words
    words = _STACKED.sub(lambda match: _ROW_END.sub(" ", match[1]), words)
    words = _RAISED_WORDS.sub(r"^\1^", _SWITCH.sub(r"\1", words.replace("\\\\", " ")))
    return _without_fonts(_COMMAND.sub(_shown, words))


def _shown(command: re.Match[str]) -> str:
    return _SHOWN.get(command[1], command[0])


def _without_fonts(words: str) -> str:
    for _ in range(_ROUNDS):
        words, count = _FONT.subn(_unspaced, words)
        if not count:
            break
    return words


def _unspaced(font: re.Match[str]) -> str:
    """Return what a font is set on; formulas have their letters set apart: "7 2 9 . 3"."""
    words, letters = font["words"], font["words"].split()
    if not font["style"] and len(letters) > 1 and all(len(letter) == 1 for letter in letters):
        words = "".join(letters)
    return words if font["style"] else words.replace("~", " ")


def _plain_math(inner: str) -> str | None:
    """Return the words and figures of a formula that has nothing else; None for a real one."""
    words = _without_rows(inner) if "\\begin" in inner else inner
    if "\\" in words:
        words = _without_fonts(_COMMAND.sub(_shown, _FRACTION.sub(r" \1/\2", words)))
    parts: list[str] = []
    at = 0
    for match in _RAISED.finditer(words):
        mark = _raised(match, words[: match.start()])
        before = _EMPTY.sub("", words[at : match.start()])
        if not mark or _FORMULA.search(before):
            return None
        parts += (before, mark)
        at = match.end()
    rest = _EMPTY.sub("", words[at:])
    return None if _FORMULA.search(rest) else "".join([*parts, rest])


def _raised(match: re.Match[str], before: str) -> str:
    """Return a mark of a footnote, a power of a unit or a sign; empty for what is none."""
    words = match["words"] or match["sign"]
    if _NOTE.fullmatch(words):
        return f" {words}"
    if _BESIDE.fullmatch(words):
        return words
    if match["base"] or not before.strip():
        return f"^{words}^" if _MARK.fullmatch(words) else ""
    return _POWERS.get(words, "") if _UNIT.search(before) else ""
