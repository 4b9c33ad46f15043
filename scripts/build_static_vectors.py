"""Builds the table of the local embedder from wordllama's published weights.

    pip install wordllama==0.4.0.post1
    python scripts/build_static_vectors.py

The output depends on the two input files alone, to the byte: each row of the 256-wide
float16 weights becomes 8-bit integers under a power-of-two scale, and the vocabulary
one UTF-8 text. wordllama itself is not imported, only its files are read.
"""

from __future__ import annotations

import argparse
import io
import json
import struct
import zipfile
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

TARGET = Path(__file__).parents[1] / "src/waypost/embed/static/vectors.npz"
WEIGHTS = "wordllama/weights/l2_supercat_256.safetensors"
TOKENIZER = "wordllama/tokenizers/l2_supercat_tokenizer_config.json"
SMALLEST_EXPONENT = -8
"""Rows are whole multiples of 2**-8 or of a larger power of two."""


def read_weights(path: Path) -> NDArray[np.float64]:
    """Return the one tensor of a safetensors file that holds a single float16 matrix."""
    raw = path.read_bytes()
    (header_length,) = struct.unpack_from("<Q", raw)
    header = json.loads(raw[8 : 8 + header_length])
    tensor = header["embedding.weight"]
    start, end = (8 + header_length + offset for offset in tensor["data_offsets"])
    matrix = np.frombuffer(raw[start:end], dtype="<f2").reshape(tensor["shape"])
    return matrix.astype(np.float64)


def read_vocabulary(path: Path) -> list[str]:
    """Return the pieces in the order of their numbers."""
    model = json.loads(path.read_text("utf-8"))["model"]
    by_number = sorted(model["vocab"].items(), key=lambda item: item[1])
    if [number for _, number in by_number] != list(range(len(by_number))):
        raise SystemExit("the vocabulary has gaps")
    return [piece for piece, _ in by_number]


def quantise(weights: NDArray[np.float64]) -> tuple[NDArray[np.int8], NDArray[np.uint8]]:
    """Return 8-bit rows and the power of two each is multiplied by."""
    largest = np.abs(weights).max(axis=1)
    exponents = np.ceil(np.log2(np.maximum(largest, 2.0**-30) / 127)).astype(int)
    shifts = np.maximum(exponents - SMALLEST_EXPONENT, 0)
    rows = np.rint(weights / 2.0 ** (shifts + SMALLEST_EXPONENT)[:, None])
    return rows.astype(np.int8), shifts.astype(np.uint8)


def write_archive(path: Path, arrays: dict[str, NDArray[Any]]) -> None:
    """Write an uncompressed .npz whose bytes do not depend on the day."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            content = io.BytesIO()
            np.lib.format.write_array(content, array, version=(1, 0), allow_pickle=False)
            entry = zipfile.ZipInfo(f"{name}.npy", date_time=(1980, 1, 1, 0, 0, 0))
            archive.writestr(entry, content.getvalue())


def main() -> None:
    parser = argparse.ArgumentParser(description="build the local embedder's table")
    parser.add_argument("--output", type=Path, default=TARGET)
    arguments = parser.parse_args()
    package = distribution("wordllama")
    weights = read_weights(Path(str(package.locate_file(WEIGHTS))))
    vocabulary = read_vocabulary(Path(str(package.locate_file(TOKENIZER))))
    rows, shifts = quantise(weights)
    text = np.frombuffer("\n".join(vocabulary).encode(), dtype=np.uint8)
    write_archive(arguments.output, {"rows": rows, "shifts": shifts, "vocabulary": text})
    print(f"{arguments.output.name}: {arguments.output.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
