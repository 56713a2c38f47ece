"""Searching and looking: POST /v1/search, /v1/explain, /v1/show, /v1/cell, /v1/similar."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from fastapi.responses import Response

from pincite.search.reader import IndexReader
from pincite.serve import reading
from pincite.serve.requests import ERRORS, Reader, TheAsked, TheService, reply
from pincite.serve.schemas import (
    CellBody,
    CellsReply,
    ExplainBody,
    ExplainReply,
    SearchBody,
    SearchReply,
    ShowBody,
    ShowReply,
    SimilarBody,
    SimilarReply,
)
from pincite.serve.service import Asked, Service

router = APIRouter(prefix="/v1", tags=["search"], responses=ERRORS)


def about(service: Service, asked: Asked, caller: Reader, collection: str) -> str:
    """Return the collection's whole name, and note it for the audit log."""
    asked.collection = service.collection(caller, collection).name
    return asked.collection


@router.post("/search", response_model=SearchReply)
async def search(
    body: SearchBody, service: TheService, caller: Reader, asked: TheAsked
) -> Response:
    """Find the passages that answer a query, each with its place and the reason it is there."""
    name, asked.query = about(service, asked, caller, body.collection), body.query

    def work(index: IndexReader) -> Response:
        found = reading.search(
            index,
            body.query,
            body.k,
            body.filters.filters(),
            companions=body.companions,
            budget_ms=body.budget_ms,
        )
        asked.facts["hits"] = len(found["hits"])
        return _about(index, name, found)

    return await service.read(caller, name, work)


@router.post("/explain", response_model=ExplainReply)
async def explain(
    body: ExplainBody, service: TheService, caller: Reader, asked: TheAsked
) -> Response:
    """Tell what each stage made of a query and, with a place, which stage lost it."""
    name, asked.query = about(service, asked, caller, body.collection), body.query

    def work(index: IndexReader) -> Response:
        filters = body.filters.filters()
        found = reading.explain(
            index, body.query, body.k, filters, place=body.place, document=body.document
        )
        return _about(index, name, found)

    return await service.read(caller, name, work)


@router.post("/show", response_model=ShowReply)
async def show(body: ShowBody, service: TheService, caller: Reader, asked: TheAsked) -> Response:
    """Show the places of a name, exactly as they stand."""
    name = about(service, asked, caller, body.collection)

    def work(index: IndexReader) -> Response:
        places = reading.show(index, body.locator, body.document, body.as_of)
        return _about(index, name, {"places": places})

    return await service.read(caller, name, work)


@router.post("/cell", response_model=CellsReply)
async def cell(body: CellBody, service: TheService, caller: Reader, asked: TheAsked) -> Response:
    """Look up a value in a table; a number fits the row whose range holds it."""
    name = about(service, asked, caller, body.collection)

    def work(index: IndexReader) -> Response:
        found = reading.cells(index, body.table, body.row, body.column, body.document)
        return _about(index, name, {"cells": found})

    return await service.read(caller, name, work)


@router.post("/similar", response_model=SimilarReply)
async def similar(
    body: SimilarBody, service: TheService, caller: Reader, asked: TheAsked
) -> Response:
    """Find what other sections say nearly the same, by the vectors of the index."""
    name = about(service, asked, caller, body.collection)

    def work(index: IndexReader) -> Response:
        found = reading.similar(index, body.locator, body.document, body.k, body.least)
        return _about(index, name, {"places": found})

    return await service.read(caller, name, work)


def _about(index: IndexReader, collection: str, values: dict[str, Any]) -> Response:
    """Return values as an answer that says where they are from; written in the same thread."""
    generation = reading.generation_of(index)
    return reply({"collection": collection, "generation": generation, **values})
