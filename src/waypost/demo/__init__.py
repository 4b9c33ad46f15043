"""A guided tour: five days of an agent's work, played into a memory and questioned.

``python -m waypost.demo`` needs no key, server or network and leaves nothing
behind. The story is our own; it is in ``story.jsonl``, in the format that
``waypost import`` reads.
"""
