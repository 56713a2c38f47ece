"""The words and signs of cross references, as patterns; ``citations.py`` reads them in order."""

from __future__ import annotations

import re

_S = r"(?:[ \t\xa0]{1,4}(?:\r?\n[ \t>]*)?|\r?\n[ \t>]*)"  # a gap, but no paragraph's end
_NUMBER = (
    r"\d{1,5}(?:[A-Za-z]{1,2}(?=[\s.,;:)(–-]|$))?(?:\.\d+[A-Za-z]{0,2})*"
    r"(?:-\d+[A-Za-z]?(?!\.?\d))?(?![A-Za-z0-9])"
)
_LETTERED = r"(?:[A-Z](?:[.-]?\d+(?:\.\d+)*)?|[IVXLC]+)(?![\w’'])"  # "C", "A.4", "IV"
LABEL = r"\([0-9A-Za-z.]{1,6}\)"
_LABELS = rf"{LABEL}(?:[ ]?{LABEL}){{0,7}}"

# What a place is called, in the singular. These are cited by number or label alone; with how far
# inside a section they are.
INNER = {
    **dict.fromkeys(("section", "rule"), 0),
    **dict.fromkeys(("subsection", "paragraph", "paragraphe"), 1),
    **dict.fromkeys(("subparagraph", "clause", "subclause", "item", "step"), 2),
}
NAMED = (
    "table", "chapter", "article", "part", "subpart", "appendix", "annex", "schedule", "annexe",
    "tableau", "chapitre", "partie", "articolo", "allegato", "tabella", "capo",
)  # fmt: skip
PLURALS = {"appendices": "appendix", "annexes": "annex", "art.": "article", "sec.": "section"}
_WORD = "|".join(
    ["appendices", "annexes", r"art\.", r"sec\."]
    + [rf"{word}(?:s|\(s\))?" for word in sorted((*INNER, *NAMED), key=len, reverse=True)]
)
_OWN = "|".join(
    [word for word in (*INNER, *NAMED) if word not in ("step", "item")]
    + ["title", "subchapter", "act", "code", "provision", "regulations?", "rules"]
)
_OWN_WORD = rf"(?:this|these|the{_S}present){_S}(?:rule{_S})?(?:{_OWN})"

HEAD = re.compile(
    rf"""
    (?=[§\d(]|(?<![A-Za-z])[A-Za-z])(?:  # no place begins inside a word: most letters are done
    (?P<law>(?<![\d.])\d{{1,3}}{_S}U\.?{_S}?S\.?{_S}?C\.?)(?:{_S}?§{{1,2}})?{_S}?
        (?:(?P<law_word>(?i:chapter|part)){_S})?(?P<law_number>{_NUMBER})(?P<law_labels>{_LABELS})?
  | (?P<cfr>(?<![\d.])\d{{1,3}}{_S}(?:CFR|C\.F\.R\.))(?:{_S}?§{{1,2}})?{_S}?
        (?:(?P<cfr_word>(?i:parts?|subpart|chapter|appendix)){_S})?
        (?P<cfr_number>{_NUMBER}|{_LETTERED})(?P<cfr_labels>{_LABELS})?
  | (?P<sign>§{{1,2}}){_S}?(?P<sign_number>{_NUMBER})(?P<sign_labels>[ ]?{_LABELS})?
  | (?<![\w-])(?P<this>(?i:this|these){_S})?(?P<word>(?i:{_WORD})){_S}(?:
        (?P<number>{_NUMBER}|{_LETTERED})(?P<labels>[ ]?{_LABELS})? | (?P<only>{_LABELS}))
  | \b(?P<own>(?i:{_OWN_WORD}))\b(?![ ](?:number|title)\b)
  | \b(?:in|under|by|of|per|see|with){_S}(?P<cued>{_LABELS})(?!{_S}(?:an?|the|any|each|all)\b)
  | (?P<loose>{_LABELS})
        (?=(?:,?{_S}(?:(?:and|or|through|to){_S})?{_LABELS}){{0,9}}{_S}of{_S}(?i:{_OWN_WORD})\b)
  | (?<![\w.,$€£#/–—-])(?P<bare>\d{{1,5}}(?:\.\d+)+(?:-\d+(?!\.?\d))?(?!\w|\.\d)
        |\d{{1,4}}(?=\([\da-zA-Z]))(?P<bare_labels>[ ]?{_LABELS})?)
    """,
    re.VERBOSE,
)
JOIN = re.compile(
    rf"(?:(?P<comma>,){_S}?(?:(?:and/or|and|or|et|ou){_S})?|{_S}(?:and/or|and|or|et|ou){_S}"
    rf"|(?P<through>,?{_S}(?:through|thru|to){_S}|[ ]?[–—-][ ]?))"
    rf"(?:(?P<sign>§{{1,2}}){_S}?|(?P<word>(?i:{_WORD})){_S})?"
    rf"(?:(?P<number>{_NUMBER}|[A-Z](?![\w.’']))(?P<labels>[ ]?{_LABELS})?|(?P<only>{_LABELS}))"
)
QUANTITY = re.compile(
    rf"(?:[–—-]\d[\d.,]*)?{_S}?(?:[%°′″×]|(?:[kMGmµcd]|)(?:m|g|V|A|W|VA|Hz|Pa|Ω|F|s|[lL]|B|bit)"
    r"(?:[²³^/]|\b)|(?:ft|feet|foot|inch(?:es)?|kWh|lbs?|psi|percent|seconds?|minutes?|hours?|days?"
    r"|weeks?|months?|years?|thousand|million|billion|points?|amp(?:ere)?s?|volts?|watts?|ohms?"
    r"|met(?:er|re)s?|miles?|degrees?|dollars?|euros?|times|[mk]?baud|kilo\w+|mega\w+)\b)"
)
# In front of a citation: the other work it stands in, as in "CSA C360-03, Table 10".
# or "DORS/2020-130, art. 41" or "L.C. 1990, ch. 7, art. 34".
STANDARD = re.compile(
    r"\b(?P<name>[A-Z]{3,}(?:[/ ][A-Z]+)?[ /-][A-Z]?\d[\w.-]*"
    r"|(?:[LS]\.C\.|[LR]\.[RS]\.(?:C\.)?)[ ,\d()A-Z-]{0,14}ch?\. ?[\w.-]{1,6}),? ?\(?$"
)
ASIDE = re.compile(rf",?{_S}(?P<name>Exception(?:{_S}No\.{_S}?\d+)?)(?![\w:])")
TO_THIS = re.compile(rf"{_S}(?:of|in|to){_S}(?i:{_OWN_WORD}|the{_S}(?:part|section))\b")
TO_PLACE = re.compile(
    rf"{_S}(?:of|(?P<to>to|in)){_S}(?:the{_S}(?:clause|provision)s?{_S}at{_S})?(?=[§\dA-Za-z(])"
)
TO_NAME = re.compile(
    rf"(?:,?{_S}(?:and|or){_S}[A-Z]\w+{_S}(?:No\.{_S}?)?\d+)?{_S}"
    rf"(?:(?:(?:of|to){_S}(?:the|that|such|said)|de{_S}(?:la|cette)|du){_S}(?P<name>[A-Z][\w.’'-]*"
    rf"(?:{_S}(?:(?:of|and|on|for|to){_S}(?:the{_S})?)?"
    rf"(?:[A-Z]\.(?={_S}[A-Z])|[A-Z][\w’'-]*|\([A-Z]{{2,}}\)|(?<=of.)\d{{4}})){{0,14}})"
    rf"|(?:of|to){_S}(?P<code>(?i:title){_S}\d+|[A-Z]{{2,}}[\w.-]*(?:{_S}[A-Z]?[\d.-]+\d)?))"
)
TO_SOMETHING = re.compile(rf"{_S}of{_S}\w")
