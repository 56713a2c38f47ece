"""Documents: which there are, bringing one in, taking one out, and how far that is."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Form, Query, UploadFile
from fastapi.responses import Response
from pydantic import BaseModel, Field

from pincite.model.errors import StoreError
from pincite.search.reader import IndexReader
from pincite.serve import reading
from pincite.serve.access import Caller
from pincite.serve.collections import Job, Jobs, ServedCollection, document_name
from pincite.serve.errors import ServiceError
from pincite.serve.requests import ERRORS, Reader, TheAsked, TheService, Writer, reply
from pincite.serve.service import SearchService, forget

document_router = APIRouter(prefix="/v1", tags=["documents"], responses=ERRORS)
CollectionQuery = Annotated[str, Query(max_length=100)]
REMOVE_SECONDS = 120.0


class DocumentLine(BaseModel):
    id: str
    title: str
    effective: str | None
    until: str | None


class DocumentsReply(BaseModel):
    collection: str
    generation: int
    documents: list[DocumentLine]


class OutlinePlace(BaseModel):
    chunk: str
    locator: str
    heading: str
    kind: str
    page: int | None
    span: tuple[int, int]
    parent: str | None


class DocumentReply(DocumentLine):
    collection: str
    generation: int
    language: str | None
    sha256: str
    access: list[str]
    findings: list[str]
    count: int = Field(description="How many places it has; at most 5,000 are listed.")
    places: list[OutlinePlace]


class JobReply(BaseModel):
    id: str
    collection: str
    document: str
    state: str = Field(description="queued, reading, embedding, done, rejected or failed.")
    status: str
    chunks: int
    done: int
    total: int
    reason: str
    hint: str
    created: str


class RemovedReply(BaseModel):
    collection: str
    removed: str
    generation: int


class CollectionsReply(BaseModel):
    collections: list[str]


@document_router.get("/collections", response_model=CollectionsReply)
async def collections(service: TheService, caller: Reader) -> Response:
    """List the collections that the key may use."""
    return reply({"collections": sorted(filter(caller.may_use, service.collections))})


@document_router.get("/documents", response_model=DocumentsReply)
async def documents(
    service: TheService, caller: Reader, asked: TheAsked, collection: CollectionQuery = ""
) -> Response:
    """List the documents that the key may see."""
    chosen = service.collection(caller, collection)
    asked.collection = chosen.name
    if chosen.is_empty:
        return reply({"collection": chosen.name, "generation": 0, "documents": []})

    def work(index: IndexReader) -> Response:
        return _about(index, chosen, {"documents": reading.documents(index)})

    return await service.read(caller, chosen.name, work)


@document_router.post("/documents", response_model=JobReply, status_code=202)
async def upload(
    service: TheService,
    caller: Writer,
    asked: TheAsked,
    file: UploadFile,
    name: Annotated[str, Form(max_length=200)] = "",
    collection: Annotated[str, Form(max_length=100)] = "",
) -> Response:
    """Take a document in; the answer is a job, and ``GET /v1/jobs/{id}`` tells how far it is."""
    chosen = service.collection(caller, collection)
    asked.collection = chosen.name
    document = document_name(name or Path(file.filename or "").name)
    jobs = Jobs(chosen, service.settings)
    await service.searching.run(service.limits.search_seconds, _check_origin, chosen, document)
    job = await service.searching.run(service.limits.body_seconds, _store, jobs, document, file)
    try:
        service.writing.submit(jobs.run, job).add_done_callback(forget)
    except ServiceError:
        jobs.drop(job)
        raise
    headers = {"location": f"/v1/jobs/{job.id}?collection={chosen.name}"}
    return reply(job.plain(), 202, headers)


def _check_origin(collection: ServedCollection, document: str) -> None:
    """Refuse to replace a document that came from a file of this machine."""
    if collection.is_empty:
        return
    with collection.lease(None) as index:
        meta = index.snapshot.meta(document)
    if meta is not None and not _is_upload(collection, meta):
        raise ServiceError(
            f"{document} was not uploaded: it comes from a file of the server",
            409,
            hint="choose another name, or remove it first",
        )


def _is_upload(collection: ServedCollection, meta: dict[str, str]) -> bool:
    source = Path(meta.get("source", ""))
    return not source.exists() or (collection.folder / "uploads").resolve() in source.parents


def _store(jobs: Jobs, document: str, file: UploadFile) -> Job:
    job = jobs.create(document)
    with jobs.incoming(job).open("wb") as stream:
        shutil.copyfileobj(file.file, stream)
    return job


@document_router.get("/documents/{document:path}", response_model=DocumentReply)
async def document(
    document: str,
    service: TheService,
    caller: Reader,
    asked: TheAsked,
    collection: CollectionQuery = "",
) -> Response:
    """Tell what is known of a document, and list its places."""
    chosen = service.collection(caller, collection)
    asked.collection = chosen.name

    def work(index: IndexReader) -> Response:
        return _about(index, chosen, reading.document(index, document))

    return await service.read(caller, chosen.name, work)


@document_router.delete("/documents/{document:path}", response_model=RemovedReply)
async def remove(
    document: str,
    service: TheService,
    caller: Writer,
    asked: TheAsked,
    collection: CollectionQuery = "",
) -> Response:
    """Take a document out of the index; it is gone when this is answered."""
    chosen = service.collection(caller, collection)
    asked.collection = chosen.name
    # What is not there need not wait until those who write are done.
    await service.read(caller, chosen.name, _check_there, document)
    jobs = Jobs(chosen, service.settings)
    await service.writing.run(REMOVE_SECONDS, jobs.remove, document)
    return reply({"collection": chosen.name, "removed": document, "generation": chosen.generation})


def _check_there(index: IndexReader, document: str) -> None:
    if index.snapshot.meta(document) is None:
        raise StoreError(f"no document {document!r}", hint="see: GET /v1/documents")


@document_router.get("/jobs/{job}", response_model=JobReply)
async def job(
    job: str, service: TheService, caller: Writer, collection: CollectionQuery = ""
) -> Response:
    """Tell how far a job is."""
    found = await service.searching.run(
        service.limits.search_seconds, _find_job, service, caller, collection, job
    )
    return reply(found.plain())


def _find_job(service: SearchService, caller: Caller, collection: str, job_id: str) -> Job:
    names = [collection] if collection else sorted(filter(caller.may_use, service.collections))
    for name in names:
        try:
            return Jobs(service.collection(caller, name), service.settings).find(job_id)
        except StoreError:
            continue
    raise StoreError(f"no job {job_id!r}", hint="jobs are kept for a while only")


def _about(index: IndexReader, collection: ServedCollection, values: dict[str, Any]) -> Response:
    generation = reading.generation_of(index)
    return reply({"collection": collection.name, "generation": generation, **values})
