"""E-mails and threads: who wrote to whom about what, and each message's first own words."""

from __future__ import annotations

import email
import email.policy
import re
from email.message import Message

from waypost.content.compaction.base import Compacted, clip, media_is
from waypost.content.markup import page_text
from waypost.content.material import Material

_HEADER = re.compile(
    r"^(From|To|Subject|Date|Sent|Cc|Message-ID): ?(.{0,300})$", re.MULTILINE | re.I
)
_WROTE = re.compile(
    r"^(?:On .{4,160} wrote:|-{2,}\s?Original Message\s?-{2,}|From: .{3,200})$", re.M
)
_QUOTED = re.compile(r"^\s{0,8}>.*$", re.MULTILINE)


class EmailCompactor:
    name = "email"

    def confidence(self, material: Material) -> float:
        if media_is(material, "message/rfc822"):
            return 0.95
        names = {match.group(1).lower() for match in _HEADER.finditer(material.head[:4000])}
        return 0.82 if "from" in names and len(names) >= 3 else 0.0

    def compact(self, material: Material) -> Compacted:
        headers = _headers(material.head)
        parts = _messages(_body(material.head))
        lines = [f"{name.title()}: {clip(value, 160)}" for name, value in headers.items()]
        lines += [f"Message {n}: {clip(part, 260)}" for n, part in enumerate(parts[:8], 1)]
        what = f"e-mail thread of {len(parts)} messages" if len(parts) > 1 else "e-mail"
        kept = "headers, beginning of each message"
        return Compacted(what, tuple(lines), kept, headers.pop("subject", None))


def _headers(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for match in _HEADER.finditer(text[:8000]):
        found.setdefault(match.group(1).lower(), match.group(2).strip())
    return found


def _body(text: str) -> str:
    """The text part of a MIME message; anything that does not parse is taken as it is."""
    try:
        message = email.message_from_string(text, policy=email.policy.compat32)
    except (ValueError, LookupError, IndexError, RecursionError):
        return text
    payload = _text_payload(message)
    return payload if payload.strip() else text


def _text_payload(message: Message) -> str:
    try:
        parts = list(message.walk())[:50]
    except RecursionError:
        return ""
    for wanted in ("text/plain", "text/html"):
        for part in parts:
            if part.get_content_type() == wanted and not part.is_multipart():
                text = _decoded(part)
                return page_text(text) if wanted == "text/html" else text
    return ""


def _decoded(part: Message) -> str:
    try:
        data = part.get_payload(decode=True)
    except (ValueError, LookupError):
        data = None
    if not isinstance(data, bytes):
        return ""
    return data.decode("utf-8", errors="replace")


def _messages(body: str) -> list[str]:
    own = _QUOTED.sub("", body)
    parts = [part.strip() for part in _WROTE.split(own)]
    return [part for part in parts if part] or [own.strip()]
