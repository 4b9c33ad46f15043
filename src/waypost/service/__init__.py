"""The network face of Waypost: JSON-RPC 2.0 over HTTP and stdio.

One registry of methods and one dispatcher serve every transport. Nothing here
knows how a memory works: handlers are a line or two over ``MemoryManager``.
Below lie the facade and the model; above, only the command line.
"""
