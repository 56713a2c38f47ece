"""A typed client of the service, blocking or not.

with Client("http://127.0.0.1:8321", key="…") as client:
    print(client.search("when is a permit needed").hits[0].citation)
"""

from pincite.client.client import AsyncClient as AsyncClient
from pincite.client.client import Client as Client
