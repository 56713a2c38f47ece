"""Documents: which there are, bringing one in, taking one out, and how far that is."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Annotated, BinaryIO

from fastapi import APIRouter, Form, Query, UploadFile
from fastapi.responses import Response

from pincite.client.values import ClientDocument, ClientJob
from pincite.model.errors import StoreError
from pincite.read.access import tags_of
from pincite.search.reader import IndexReader
from pincite.serve import reading
from pincite.serve.collections import Job, Jobs, ServedCollection, document_name
from pincite.serve.errors import ServiceError
from pincite.serve.requests import (
    ERRORS,
    FROM,
    Reader,
    Visit,
    Writer,
    described,
    reply,
    schema,
)
from pincite.serve.service import forget

document_router = APIRouter(prefix="/v1", tags=["documents"], responses=ERRORS)
CollectionQuery = Annotated[str, Query(max_length=100)]
REMOVE_SECONDS = 120.0


STATES = "queued, reading, embedding, done, rejected or failed."
DOCUMENT = schema("DocumentLine", ClientDocument)
DocumentsReply = schema("DocumentsReply", **FROM, documents=[DOCUMENT])
OUTLINE = schema(
    "OutlinePlace",
    chunk=str,
    locator=str,
    heading=str,
    kind=str,
    page=int | None,
    span=tuple[int, int],
    parent=str | None,
)
DocumentReply = schema(
    "DocumentReply",
    ClientDocument,
    **FROM,
    language=str | None,
    sha256=str,
    access=list[str],
    findings=list[str],
    count=described(int, "How many places it has; at most 5,000 are listed."),
    places=[OUTLINE],
)
JobReply = schema("JobReply", ClientJob, state=described(str, STATES), created=str)
RemovedReply = schema("RemovedReply", collection=str, removed=str, generation=int)
CollectionsReply = schema("CollectionsReply", collections=list[str])


@document_router.get("/collections", response_model=CollectionsReply)
async def collections(visit: Reader) -> Response:
    """List the collections that the key may use."""
    return reply({"collections": visit.mine})


@document_router.get("/documents", response_model=DocumentsReply)
async def documents(visit: Reader, collection: CollectionQuery = "") -> Response:
    """List the documents that the key may see."""
    chosen = visit.collection(collection)
    if chosen.is_empty:
        return reply({"collection": chosen.name, "generation": 0, "documents": []})
    return await visit.answer(collection, lambda index: {"documents": reading.documents(index)})


@document_router.post("/documents", response_model=JobReply, status_code=202)
async def upload(
    visit: Writer,
    file: UploadFile,
    name: Annotated[str, Form(max_length=200)] = "",
    collection: Annotated[str, Form(max_length=100)] = "",
    access: Annotated[str | None, Form(max_length=400)] = None,
) -> Response:
    """Take a document in; the answer is a job, and ``GET /v1/jobs/{id}`` tells how far it is.

    ``access`` are tags of a document that names none itself; left out, those given before stay.
    """
    chosen = visit.collection(collection)
    if access is not None and access.strip():
        access = tags_of(access, "access")
    job = await taken_in(visit, chosen, name or Path(file.filename or "").name, file.file, access)
    headers = {"location": f"/v1/jobs/{job.id}?collection={chosen.name}"}
    return reply(job.plain(), 202, headers)


async def taken_in(
    visit: Visit,
    chosen: ServedCollection,
    name: str,
    stream: BinaryIO,
    access: str | None = None,
) -> Job:
    """Return the job that brings a document into a collection; its file was received."""
    service, document = visit.service, document_name(name)
    jobs = Jobs(chosen, service.settings)
    await visit.in_thread(_check_origin, chosen, document)
    seconds = service.limits.body_seconds
    job = await service.searching.run(
        visit.caller.id, seconds, jobs.receive, document, stream, access
    )
    try:
        service.writing.submit(visit.caller.id, jobs.run, job).add_done_callback(forget)
    except ServiceError:
        jobs.drop(job)
        raise
    return job


def _check_origin(collection: ServedCollection, document: str) -> None:
    """Refuse to replace a document that came from a file of this machine."""
    if collection.is_empty:
        return
    with collection.lease(None) as index:
        meta = index.snapshot.meta(document) or {}
    source = Path(meta.get("source", ""))
    is_upload = not source.exists() or (collection.folder / "uploads").resolve() in source.parents
    if meta and not is_upload:
        raise ServiceError(
            f"{document} was not uploaded: it comes from a file of the server",
            409,
            hint="choose another name, or remove it first",
        )


@document_router.get("/documents/{document:path}", response_model=DocumentReply)
async def document(document: str, visit: Reader, collection: CollectionQuery = "") -> Response:
    """Tell what is known of a document, and list its places."""
    return await visit.answer(collection, lambda index: reading.document(index, document))


@document_router.delete("/documents/{document:path}", response_model=RemovedReply)
async def remove(document: str, visit: Writer, collection: CollectionQuery = "") -> Response:
    """Take a document out of the index; it is gone when this is answered."""

    def check_there(index: IndexReader) -> None:
        if index.snapshot.meta(document) is None:
            raise StoreError(f"no document {document!r}", hint="see: GET /v1/documents")

    # What is not there need not wait until those who write are done.
    await visit.read(collection, check_there)
    chosen = await remove_document(visit, collection, document)
    return reply({"collection": chosen.name, "removed": document, "generation": chosen.generation})


async def remove_document(visit: Visit, collection: str, document: str) -> ServedCollection:
    """Take a document out of a collection, and return that."""
    chosen = visit.collection(collection)
    jobs = Jobs(chosen, visit.service.settings)
    await visit.service.writing.run(visit.caller.id, REMOVE_SECONDS, jobs.remove, document)
    return chosen


@document_router.get("/jobs/{job}", response_model=JobReply)
async def job(job: str, visit: Writer, collection: CollectionQuery = "") -> Response:
    """Tell how far a job is."""

    def find() -> Job:
        for name in [collection] if collection else visit.mine:
            chosen = visit.service.collection(visit.caller, name)
            with suppress(StoreError):
                return Jobs(chosen, visit.service.settings).find(job)
        raise StoreError(f"no job {job!r}", hint="jobs are kept for a while only")

    return reply((await visit.in_thread(find)).plain())
