"""The tools: each reads its arguments, calls the library and answers with a model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Annotated, Any
from urllib.parse import quote

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ResourceNotFoundError, ToolError
from pydantic import Field

from pincite.ask.asker import Asker
from pincite.core.errors import PinciteError
from pincite.mcp import answers, models
from pincite.mcp.places import SCHEME, Reader
from pincite.search.reader import IndexReader
from pincite.search.related import references

MAX_QUERY_CHARS = 2_000
MAX_NAME_CHARS = 500
MAX_K = 25
MAX_PLACES = 10
MAX_FETCHED_CHARS = 20_000
MAX_DOCUMENT_CHARS = 100_000

# Lends the index as the asker may see it, by the HTTP request that carries the call; the request is
# None on standard input.
Borrow = Callable[[Any], AbstractContextManager[IndexReader]]


def _text(description: str, limit: int) -> Any:
    # The limit stands in the schema, and is checked where the message can say what to do.
    return Field(description=description, json_schema_extra={"maxLength": limit})


Query = Annotated[str, _text("A question, words, or a place like '97.113(a)'.", MAX_QUERY_CHARS)]
PlaceId = Annotated[str, _text("An id of a search result.", MAX_NAME_CHARS)]
Document = Annotated[str | None, _text("Only in this document, by its id.", MAX_NAME_CHARS)]
AsOf = Annotated[str, _text("Only editions in force then: 2022-07-15, or 2022.", 20)]
Documents = Annotated[
    list[str] | None,
    Field(max_length=50, description="Ids of documents, or patterns: 'manuals/*.pdf'."),
]


class Tools:
    """Everything an agent may call; none of it changes anything."""

    def __init__(self, borrow: Borrow, links: str = "") -> None:
        self.borrow = borrow
        self.links = links

    def search(
        self,
        query: Query,
        ctx: Context,
        k: Annotated[int, Field(ge=1, le=MAX_K, description="How many results.")] = 8,
        documents: Documents = None,
        as_of: AsOf = "",
    ) -> models.SearchAnswer:
        """Find the clauses, table rows and rules that answer a question, each with its citation.

        A query may also name a place. Use fetch with a result's id for its whole text.
        """
        query = checked("query", query, MAX_QUERY_CHARS)
        with self._reader(ctx) as reader:
            filters = reader.filters(documents or [], short("as_of", as_of, 20))
            return answers.search_answer(reader, reader.index.search(query, k, filters))

    def fetch(self, id: PlaceId, ctx: Context) -> models.Fetched:
        """Return the text of one place exactly, with where it stands and what is below it."""
        place_id = checked("id", id, MAX_NAME_CHARS)
        with self._reader(ctx) as reader:
            return answers.fetched(reader, reader.find(place_id), 0, MAX_FETCHED_CHARS)

    def show(
        self,
        locator: Annotated[
            str, _text("A place: '97.113(a)(4)', 'Table 250.66', a heading.", MAX_NAME_CHARS)
        ],
        ctx: Context,
        document: Document = None,
        as_of: AsOf = "",
        start: Annotated[int, Field(ge=0, description="Go on from this character.")] = 0,
    ) -> models.ShowAnswer:
        """Return the places with this number or heading, exactly as their documents have them."""
        locator = checked("locator", locator, MAX_NAME_CHARS)
        with self._reader(ctx) as reader:
            places = reader.named(locator, document, short("as_of", as_of, 20))
            chosen = reader.index.snapshot.get([place.id for place in places[:MAX_PLACES]])
            share = MAX_FETCHED_CHARS // len(chosen)
            more = len(places) - len(chosen)
            return models.ShowAnswer(
                places=[answers.fetched(reader, chunk, start, share) for chunk in chosen],
                notes=[f"{more} more places have this name; name a document"] if more else [],
            )

    def lookup_table(
        self,
        table: Annotated[str, _text("A table: 'Table 250.66'.", MAX_NAME_CHARS)],
        row: Annotated[
            str, _text("Words or a number of the row: '95 mm²', 'E-07'.", MAX_NAME_CHARS)
        ],
        ctx: Context,
        column: Annotated[str, _text("Words of the column; all without.", MAX_NAME_CHARS)] = "",
        document: Document = None,
    ) -> models.CellsAnswer:
        """Look up a value in a table; a number fits the row whose range holds it."""
        table = checked("table", table, MAX_NAME_CHARS)
        row = checked("row", row, MAX_NAME_CHARS)
        column = short("column", column, MAX_NAME_CHARS)
        with self._reader(ctx) as reader:
            places = reader.named(table, document, "")[:MAX_PLACES]
            chunks = reader.index.snapshot.get([place.id for place in places])
            return answers.cells_answer(reader, chunks, row, column)

    def follow_references(self, id: PlaceId, ctx: Context) -> models.ReferencesAnswer:
        """Return what a place refers to (tables, clauses, definitions) and what refers to it."""
        place_id = checked("id", id, MAX_NAME_CHARS)
        with self._reader(ctx) as reader:
            found = references(reader.index.snapshot, reader.find(place_id))
            return answers.references_answer(reader, found)

    def ask(
        self,
        question: Annotated[str, _text("A question in whole words.", MAX_QUERY_CHARS)],
        ctx: Context,
        documents: Documents = None,
        as_of: AsOf = "",
    ) -> models.AskAnswer:
        """Answer a question in the documents' own words, with checked citations, or say why not."""
        question = checked("question", question, MAX_QUERY_CHARS)
        with self._reader(ctx) as reader:
            filters = reader.filters(documents or [], short("as_of", as_of, 20))
            return answers.ask_answer(reader, Asker(reader.index).answer(question, filters=filters))

    def documents(
        self,
        ctx: Context,
        matching: Annotated[
            str, _text("Words of the id or title; all without.", MAX_NAME_CHARS)
        ] = "",
    ) -> models.DocumentsAnswer:
        """List the documents that can be searched."""
        words = short("matching", matching, MAX_NAME_CHARS).casefold().split()
        with self._reader(ctx) as reader:
            return answers.documents_answer(reader, words)

    def document_text(self, document: str, ctx: Context, start: int = 0) -> str:
        """Return a document's whole text as it was read."""
        with self._reader(ctx) as reader:
            if document not in reader.index.documents():
                raise ResourceNotFoundError(f"no document {document!r}: see the tool documents")
            text = reader.index.snapshot.text(document)
        end = max(0, start) + MAX_DOCUMENT_CHARS
        part = models.seen(text[max(0, start) : end])
        if end >= len(text):
            return part
        rest = f"{SCHEME}{quote(document)}?start={end}"
        return f"{part}\n[cut here, at {end} of {len(text)} characters: read on at {rest}]"

    @contextmanager
    def _reader(self, ctx: Context) -> Iterator[Reader]:
        """Lend the index, and tell our errors so that an agent can act."""
        try:
            with self.borrow(ctx.request_context.request) as index:
                yield Reader(index, self.links)
        except PinciteError as error:
            raise ToolError(" ".join(filter(None, (f"{error.message}.", error.hint)))) from error


def checked(name: str, value: str, limit: int) -> str:
    """Return an argument that has to say something; ToolError if it does not, or is too long."""
    if not value.strip():
        raise ToolError(f"{name} is empty. Write what you look for.")
    return short(name, value, limit)


def short(name: str, value: str, limit: int) -> str:
    """Return an argument; ToolError if it is too long."""
    if len(value) > limit:
        raise ToolError(f"{name} has {len(value)} characters, at most {limit} fit. Shorten it.")
    return value
