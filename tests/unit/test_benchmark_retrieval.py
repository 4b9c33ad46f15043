"""The retrieval benchmarks read the public formats and end with one JSON object."""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import Any

import pytest

from benchmarks import datasets, labelled, retrieval

MEASURES = {"recall@5", "recall@10", "recall@20", "hit@5", "ndcg@10", "mrr"}
CONVERSATION = {
    "sample_id": "x",
    "conversation": {
        "speaker_a": "Ann",
        "speaker_b": "Bo",
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [
            {"speaker": "Ann", "dia_id": "D1:1", "text": "Where did you buy the kayak?"},
            {"speaker": "Bo", "dia_id": "D1:2", "text": "In Oslo.", "blip_caption": "a red kayak"},
        ],
        "session_2_date_time": "9:05 am on 1 June, 2023",
        "session_2": [{"speaker": "Ann", "dia_id": "D2:1", "text": "My sister plays the harp."}],
        "session_3_date_time": "9:05 am on 2 June, 2023",
    },
    "qa": [
        {"question": "Where did Bo buy the kayak?", "evidence": ["D1:1; D1:2"], "category": 4},
        {"question": "Which instrument does Ann play?", "evidence": ["D2:1"], "category": 5},
        {"question": "Unanswerable", "evidence": [], "category": 4},
    ],
}
SESSIONS = {
    "s1": [
        {"role": "user", "content": "My cat is called Miso.", "has_answer": True},
        {"role": "assistant", "content": "A fine name for a cat."},
    ],
    "s2": [{"role": "user", "content": "Please explain compound interest."}],
}


def question(**more: Any) -> dict[str, Any]:
    return {
        "question_id": "q1",
        "question_type": "single-session-user",
        "question": "What is the name of my cat?",
        "question_date": "2023/05/30 (Tue) 21:40",
        "haystack_session_ids": ["s1", "s2"],
        "haystack_dates": ["2023/05/20 (Sat) 02:21", "2023/05/21 (Sun) 10:00"],
        "answer_session_ids": ["s1"],
        **more,
    }


def last_line(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    retrieval.main([*arguments, "--json"])
    found: dict[str, Any] = json.loads(capsys.readouterr().out.splitlines()[-1])
    return found


def test_locomo_is_scored_over_turns_with_category_5_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "locomo").mkdir()
    with lzma.open(tmp_path / "locomo" / "any-name.json.xz", "wt") as file:
        json.dump([CONVERSATION], file)
    report = last_line(capsys, "--dataset", "locomo", "--data", str(tmp_path))
    assert (report["dataset"], report["level"]) == ("locomo", "turn")
    assert set(report["waypost"]) == MEASURES
    assert set(report["baselines"]) == {"dense", "full_text", "rank_fusion"}
    assert report["waypost"]["recall@5"] == 100
    assert set(report["per_category"]) == {"4"}
    assert report["category_5"]["waypost"]["hit@5"] == 100
    assert set(report["search_ms"]) == {"p50", "p95"}
    assert report["ingest_per_s"] > 0
    assert report["embed_ms"] > 0


@pytest.mark.parametrize("level", ["session", "turn"])
@pytest.mark.parametrize("packed", [True, False])
def test_longmemeval_is_scored_over_sessions_and_turns(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], level: str, packed: bool
) -> None:
    abstention = question(question_id="q2_abs", haystack_sessions=list(SESSIONS.values()))
    data: Any = [question(haystack_sessions=list(SESSIONS.values())), abstention]
    if packed:
        data = {"questions": [question(), question(question_id="q2_abs")], "sessions": SESSIONS}
    file = tmp_path / "longmemeval.json"
    file.write_text(json.dumps(data))
    report = last_line(capsys, "--dataset", "longmemeval", "--data", str(file), "--level", level)
    assert report["level"] == level
    assert report["waypost"] == report["levels"][level]["waypost"]
    assert set(report["levels"]) == {"session", "turn"}
    assert report["levels"]["turn"]["waypost"]["hit@5"] == 100


def test_a_folder_without_the_data_set_is_named(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"no \.json or \.json\.xz file of locomo"):
        datasets.find(tmp_path, "locomo")


def test_every_label_of_our_own_set_names_a_memory() -> None:
    memories = list(labelled.read_memories())
    known = {item.label for item in memories}
    questions = list(labelled.read_questions())
    assert len(known) == len(memories)
    assert {item.corrects for item in memories if item.corrects} <= known
    assert all(question.answers <= known for question in questions)
    assert len({question.text for question in questions}) == 100


def test_a_corrected_statement_is_the_answer_to_nothing() -> None:
    corrected = {item.corrects for item in labelled.read_memories()}
    assert not [q.text for q in labelled.read_questions() if q.answers & corrected]
