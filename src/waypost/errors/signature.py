"""The signature of an error: what stays the same when it comes again.

Version 1 joins the error type, the exception class, the tool (or action) and the message with its
values masked: numbers, ids, paths, urls, dates and quoted text become their kind, stop words go,
words are stemmed. Two errors of one type with different messages have different signatures. The
version is stored beside the signature, so a better one can come without mixing the two.
"""

from __future__ import annotations

import hashlib
import re

from waypost.stages.compress.words import VALUES, tokenize

VERSION = 1
_LONGEST = 200
_WORDS = 16
_EXCEPTION = re.compile(r"\b([A-Z]\w{0,60}(?:Error|Exception|Warning|Timeout|Interrupt|Exit))\b")
_QUOTED = re.compile(r"'[^'\n]*'|\"[^\"\n]*\"|`[^`\n]*`|“[^”\n]*”|\{[^{}\n]*\}|\[[^\[\]\n]*\]")
_MASKED = VALUES - {"symbol"}


def signature_of(
    error_type: str, description: str, *, tool: str | None = None, action: str | None = None
) -> str:
    """The signature of an error, readable, at most 255 characters."""
    message = _message(description)
    parts = (
        error_type.strip().lower(),
        exception_class(description) or "-",
        _head(tool or action or "") or "-",
        " ".join(masked(message)) or "-",
    )
    text = " | ".join(parts)
    if len(text) <= _LONGEST:
        return text
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{text[:_LONGEST]}…{digest}"


def exception_class(text: str) -> str | None:
    """The last exception class a text names: in a traceback, the one that was raised."""
    found = _EXCEPTION.findall(text)
    return found[-1] if found else None


def masked(message: str) -> list[str]:
    """The words of a message in order, with every value replaced by its kind."""
    words = []
    for token in tokenize(_QUOTED.sub(" \u241f ", message)):
        if token.kind in _MASKED:
            words.append(f"<{token.kind}>")
        elif token.is_content:
            words.append(token.form)
    return words[:_WORDS]


def _message(description: str) -> str:
    """The telling line: the last one that names an exception, else the first."""
    lines = [line.strip() for line in description.splitlines() if line.strip()]
    named = [line for line in lines if _EXCEPTION.search(line)]
    return named[-1] if named else (lines[0] if lines else "")


def _head(action: str) -> str:
    """The name of a tool or command without its arguments."""
    words = re.split(r"[\s({=]", action.strip(), maxsplit=1)
    return words[0].lower()
