"""Keeping memory bounded without losing any of it.

``pruner`` decides what leaves the database, ``archive`` moves it out and brings it
back, ``erasure`` is the one operation that destroys. Objects go to a folder or to
any object store behind the small port of ``objects``.
"""
