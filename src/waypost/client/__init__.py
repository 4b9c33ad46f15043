"""The same memory, over the network: a client whose methods are those of the library.

    client = waypost.Client("http://127.0.0.1:7077", token=token)
    memory = client.agent("planner")

Code written against ``waypost.open`` runs against a server by changing that one
line. ``connection`` makes calls, ``operation`` turns a method of the library into
one, and ``memory`` and ``content`` list which method is which call. Above: users.
Below: the signatures and values of the library, never its storage.
"""

from waypost.client.connection import Client, agent_of

__all__ = ["Client", "agent_of"]
