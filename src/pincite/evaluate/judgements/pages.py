"""A corpus of many short texts as one document, so that a text is a page."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from pincite.core.errors import MALFORMED, SourceError
from pincite.evaluate.judgements.questions import Need, Place, QuestionSet


def write_corpus(folder: Path, file: Path) -> dict[str, int]:
    """Write ``corpus.jsonl`` of BEIR as a document of pages; return the page of each text."""
    pages: dict[str, int] = {}
    try:
        with (folder / "corpus.jsonl").open(encoding="utf-8") as lines:
            written = []
            for number, line in enumerate(lines):
                item = json.loads(line)
                pages[str(item["_id"])] = number
                text = "\n\n".join(filter(None, (str(item.get("title", "")), str(item["text"]))))
                written.append({"text": text, "page_idx": number})
        file.write_text(json.dumps(written, ensure_ascii=False), encoding="utf-8")
    except (OSError, *MALFORMED) as error:
        raise SourceError(
            f"cannot make {file} of {folder / 'corpus.jsonl'}: {error!r}",
            hint="a line of corpus.jsonl has _id, title and text",
        ) from error
    return pages


def on_pages(questions: QuestionSet, pages: Mapping[str, int], document: str) -> QuestionSet:
    """Return the judgements with pages of one document in place of documents."""

    def moved(need: Need) -> Need:
        return tuple(
            replace(place, document=document, page=pages[place.document])
            if place.document in pages
            else Place(f"missing/{place.document}", grade=place.grade)
            for place in need
        )

    changed = [
        replace(each, needs=tuple(map(moved, each.needs)), rejected=moved(each.rejected))
        for each in questions.questions
    ]
    return replace(questions, questions=changed)
