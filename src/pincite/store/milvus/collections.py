"""Collections of Milvus and their partitions: made, served, dropped."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from pincite.store.milvus.client import Client
from pincite.store.vectordb.driver import Absent


class Exists(Exception):
    """There is a collection of that name, and it is another."""


class Collections:
    """The collections of a database.

    Columns are given by name: 0 for a number, else the longest text. The first is the key.
    """

    def __init__(self, client: Client, *, shards: int, replicas: int) -> None:
        self._client = client
        self._ask = client.ask
        self._shards = shards
        self._replicas = replicas
        self._is_prepared: set[str] = set()

    def names(self) -> list[str]:
        return self._ask(lambda client, seconds: list(client.list_collections(timeout=seconds)))

    def note(self, name: str) -> str:
        """Return the description of a collection; Absent if there is none."""
        return self._ask(
            lambda client, seconds: str(
                client.describe_collection(name, timeout=seconds)["description"]
            )
        )

    def drop(self, name: str) -> None:
        self._ask(lambda client, seconds: client.drop_collection(name, timeout=seconds))

    def create(
        self,
        name: str,
        columns: Mapping[str, int],
        vector: tuple[str, int],
        *,
        note: str = "",
        shards: int = 1,
    ) -> None:
        """Make a collection; nothing happens if there is one like it, Exists if it differs."""
        pymilvus = self._client.pymilvus
        schema = pymilvus.MilvusClient.create_schema(
            auto_id=False, enable_dynamic_field=False, description=note
        )
        key = next(iter(columns))
        for column, longest in columns.items():
            kind = pymilvus.DataType.VARCHAR if longest else pymilvus.DataType.INT64
            limit = {"max_length": longest} if longest else {}
            schema.add_field(column, kind, is_primary=column == key, **limit)
        schema.add_field(vector[0], pymilvus.DataType.FLOAT_VECTOR, dim=vector[1])

        def create(client: Any, seconds: float) -> None:
            try:
                client.create_collection(name, schema=schema, num_shards=shards, timeout=seconds)
            except pymilvus.MilvusException as error:
                if "duplicate collection" in str(error):
                    raise Exists from error
                raise

        self._ask(create)

    def prepare(
        self,
        name: str,
        columns: Mapping[str, int],
        indexes: Mapping[str, Mapping[str, Any]],
        vector: tuple[str, int],
    ) -> None:
        """Make a collection if it is not there, and its indexes; let the server serve it."""
        if name in self._is_prepared:
            return

        def serve(client: Any, seconds: float) -> None:
            wanted = client.prepare_index_params()
            for column, index in indexes.items():
                wanted.add_index(column, **index)
            client.create_index(name, wanted, timeout=seconds, sync=False)
            client.load_collection(name, timeout=seconds, replica_number=self._replicas)

        with suppress(Exists):  # with other shards: they stay as they are
            self.create(name, columns, vector, shards=self._shards)
        self._ask(serve, patient=True)
        self._is_prepared.add(name)

    def flush(self, name: str) -> None:
        """Let the server make its index of what is new, now."""
        self._ask(lambda client, seconds: client.flush(name, timeout=seconds), patient=True)

    def partitions(self, name: str) -> list[str]:
        return self._ask(
            lambda client, seconds: list(client.list_partitions(name, timeout=seconds))
        )

    def add_partition(self, name: str, partition: str) -> None:
        self._ask(lambda client, seconds: client.create_partition(name, partition, timeout=seconds))

    def drop_partition(self, name: str, partition: str) -> None:
        def drop(client: Any, seconds: float) -> None:
            client.release_partitions(name, [partition], timeout=seconds)
            client.drop_partition(name, partition, timeout=seconds)

        with suppress(Absent):
            self._ask(drop, patient=True)

    def spread(self, name: str) -> None:
        """Let all nodes that take requests look again at what partitions there are.

        One that has just started may know a collection and not have heard of a partition that was
        made in that moment, and it does not ask again until something else is made.
        """
        self.add_partition(name, "news")
        self.drop_partition(name, "news")
