"""The content channel on every database."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator

import pytest

from tests.engines import InMemory, OnFile, OnPostgres
from waypost import Engine, MemoryManager
from waypost.content.channel import ContentChannel
from waypost.content.conversation import Prompt
from waypost.content.entries import ToolCall
from waypost.content.policy import Policy
from waypost.content.sharing import Sharing, share
from waypost.content.tools import ToolExecutor
from waypost.exceptions import Forbidden, InvalidInput, NotFound
from waypost.model import ContentType

PAGE = "<html><title>Harbours</title><p>" + "The harbour of Bergen is old. " * 200 + "</p></html>"


class ContentContract:
    async def test_what_is_stored_comes_back_whole(self, memory: MemoryManager) -> None:
        content = memory.content("run")
        for value in ("text äöü ☃", "", "null \x00 inside", "x" * 3_000_000):
            item = await content.store(value, source="tool")
            view = await content.retrieve(item.content_id, max_tokens=1_000_000)
            assert view.text == value
            assert item.characters == len(value)

    async def test_json_values_and_bytes_are_kept_too(self, memory: MemoryManager) -> None:
        content = memory.content("run")
        value = await content.store({"a": [1, {"b": "c"}]})
        assert (await content.retrieve(value.content_id, "filtered", path="a[1].b")).text == "c"
        image = await content.store(b"\x89PNG\r\n\x1a\n\x00\x01")
        assert image.characters is None
        assert "PNG image" in (await content.retrieve(image.content_id)).text
        assert b"".join([chunk async for chunk in content.open(image.content_id)])[:4] == b"\x89PNG"

    async def test_a_large_result_is_streamed_in_and_out(self, memory: MemoryManager) -> None:
        content = memory.content("run")

        async def lines() -> AsyncIterator[bytes]:
            for n in range(300_000):
                yield b"line %d of a long log\n" % n

        item = await content.store_stream(lines(), source="log")
        assert item.size == item.characters == 7_688_890
        last = await content.retrieve(item.content_id, "last_n", n=1)
        assert last.text == "line 299999 of a long log"
        middle = await content.retrieve(item.content_id, "filtered", regex="line 15000[01] ")
        assert middle.text.splitlines()[1] == "150002: line 150001 of a long log"
        whole = await content.retrieve(item.content_id)
        assert whole.truncated
        assert whole.token_count <= 8000

    async def test_the_same_content_is_kept_once(
        self, memory: MemoryManager, engine: Engine
    ) -> None:
        noise = os.urandom(600_000)
        content = memory.content("run")
        first = await content.store(noise)
        second = await memory.content("other run").store(noise)
        assert first.digest == second.digest
        assert await engine.database.read(count_chunks, agent="planner") == 1

    async def test_an_id_with_a_wrong_character_is_explained(self, memory: MemoryManager) -> None:
        content = memory.content("run")
        item = await content.store("hello")
        wrong = item.content_id[:-1] + ("2" if item.content_id[-1] != "2" else "3")
        with pytest.raises(InvalidInput, match="wrong character"):
            await content.retrieve(wrong)

    async def test_an_unknown_id_names_the_newest_ones(self, memory: MemoryManager) -> None:
        elsewhere = await memory.content("other").store("hello")
        here = await memory.content("run").store("hello")
        with pytest.raises(NotFound, match=here.content_id):
            await memory.content("run").retrieve(elsewhere.content_id)

    async def test_items_are_found_by_type_source_tags_and_text(
        self, memory: MemoryManager
    ) -> None:
        content = memory.content("run")
        page = await content.store(PAGE, source="visit", type="web_content", tags=["sea", "old"])
        rows = await content.store("a,b\n1,2\n3,4", source="sql", type=ContentType.DATABASE_RESULT)
        assert await content.query(type="web_content") == [page]
        assert await content.query(source="sql") == [rows]
        assert await content.query(tags=("sea",)) == [page]
        assert await content.query(text="bergen HARBOUR") == [page]
        assert await content.query(text="nowhere") == []
        assert await content.query(since=rows.created_at) == [rows]
        assert await content.query(until=rows.created_at) == [page]
        assert await content.query(limit=1) == [rows]

    async def test_wrong_criteria_and_details_are_explained(self, memory: MemoryManager) -> None:
        content = memory.content("run")
        with pytest.raises(InvalidInput, match="criteria are type, source"):
            await content.query(colour="red")
        with pytest.raises(InvalidInput, match="known are title, tags"):
            await content.store("x", colour="red")
        with pytest.raises(InvalidInput, match="known are action_result"):
            await content.store("x", type="page")
        with pytest.raises(InvalidInput, match="known are full, excerpt"):
            await content.retrieve((await content.store("x")).content_id, "all")

    async def test_clear_empties_and_restore_brings_back(self, memory: MemoryManager) -> None:
        content = memory.content("run")
        first = await content.store("one")
        snapshot = await content.snapshot()
        second = await content.store("two")
        assert await content.clear() == 2
        assert await content.query() == []
        await content.restore(snapshot)
        assert [item.content_id for item in await content.query()] == [first.content_id]
        with pytest.raises(NotFound):
            await content.get(second.content_id)

    async def test_agents_do_not_see_each_others_content(
        self, memory: MemoryManager, engine: Engine
    ) -> None:
        item = await memory.content("run").store("secret of the planner")
        other = engine.agent("other").content("run")
        assert await other.query(text="secret") == []
        with pytest.raises(NotFound):
            await other.retrieve(item.content_id)
        with pytest.raises(Forbidden):
            await other.restore(await memory.content("run").snapshot())

    async def test_a_sub_agent_may_share_or_only_read(self, memory: MemoryManager) -> None:
        parent = memory.content("run")
        item = await parent.store("the plan")
        shared = await share(parent, Sharing.SHARED, "sub")
        made = await shared.store.store("found by the sub-agent")
        assert (await parent.get(made.content_id)).content_id == made.content_id
        reading = await share(parent, "read_only", "sub")
        assert (await reading.store.retrieve(item.content_id)).text == "the plan"
        for attempt in (reading.store.store("x"), reading.store.clear()):
            with pytest.raises(Forbidden):
                await attempt
        result = await reading.own.store("what a tool of the sub-agent returned")
        assert (await reading.store.get(result.content_id)).size == result.size
        assert await reading.merge() == {}
        assert len(await parent.query()) == 2

    async def test_an_isolated_sub_agent_leaks_nothing_until_merged(
        self, memory: MemoryManager
    ) -> None:
        parent = memory.content("run")
        secret = await parent.store("not for the sub-agent")
        child = await share(parent, Sharing.ISOLATED, "sub")
        with pytest.raises(NotFound):
            await child.store.retrieve(secret.content_id)
        found = await child.store.store("found")
        assert len(await parent.query()) == 1
        merged = await child.merge()
        assert (await parent.retrieve(merged[found.content_id])).text == "found"

    async def test_a_passed_snapshot_keeps_its_ids_and_dropped_changes_are_gone(
        self, memory: MemoryManager
    ) -> None:
        parent = memory.content("run")
        item = await parent.store("the plan")
        child = await share(parent, "isolated", "sub", snapshot=await parent.snapshot())
        assert (await child.store.retrieve(item.content_id)).text == "the plan"
        await child.store.store("scratch")
        await child.drop()
        assert await child.store.query() == []
        assert len(await parent.query()) == 1

    async def test_a_merge_gives_a_new_id_when_the_old_one_is_taken(
        self, memory: MemoryManager
    ) -> None:
        parent = memory.content("run")
        child = await share(parent, "isolated", "sub", snapshot=await parent.snapshot())
        mine = await parent.store("mine")
        theirs = await child.store.store("theirs")
        merged = await child.merge()
        assert (await parent.retrieve(mine.content_id)).text == "mine"
        assert (await parent.retrieve(merged[theirs.content_id])).text == "theirs"

    async def test_replay_gives_back_the_bytes_of_every_step(self, memory: MemoryManager) -> None:
        recorder = memory.recorder("run")
        await recorder.start({"note": "test"}, task_id="task")
        channel = ContentChannel(memory.content("run"), recorder=recorder)
        sent = await several_steps(channel)
        await recorder.end()
        for prompt in sent:
            again = await memory.runs.messages_at("run", prompt.step)
            assert json.dumps(again) == json.dumps(prompt.messages)
        run = await memory.runs.get("run")
        assert run.steps == len(sent)
        assert run.tokens_sent == sum(prompt.tokens for prompt in sent)
        assert run.ended_at is not None
        with pytest.raises(NotFound, match="it has steps 1 to 8"):
            await memory.runs.messages_at("run", 99)

    async def test_the_step_at_which_a_result_was_first_shown_is_kept(
        self, memory: MemoryManager
    ) -> None:
        recorder = memory.recorder("run")
        await recorder.start()
        channel = ContentChannel(memory.content("run"), recorder=recorder)
        await several_steps(channel)
        pages = (await channel.store.query(source="visit"))[::-1]
        assert [page.first_shown_step for page in pages] == [2, 3, 4, 5, 6, 7, 8, None]
        prompts = [e for e in await memory.runs.events("run") if e.kind == "prompt"]
        assert [len(event.payload["shown"]) for event in prompts] == [0, 1, 1, 1, 1, 1, 1, 1]

    async def test_replay_in_anthropics_style_gives_the_system_text_too(
        self, memory: MemoryManager
    ) -> None:
        recorder = memory.recorder("run")
        await recorder.start()
        store = memory.content("run")
        sent = await several_steps(ContentChannel(store, recorder=recorder, style="anthropic"))
        for prompt in sent:
            again = await memory.runs.prompt_at("run", prompt.step)
            assert again.system == prompt.system
            assert json.dumps(again.messages) == json.dumps(prompt.messages)

    async def test_a_run_survives_a_clear_for_audit(self, memory: MemoryManager) -> None:
        recorder = memory.recorder("run")
        await recorder.start()
        channel = ContentChannel(memory.content("run"), recorder=recorder)
        sent = await several_steps(channel)
        await memory.content("run").clear()
        assert await memory.runs.messages_at("run") == sent[-1].messages
        kinds = [event.kind for event in await memory.runs.events("run")]
        assert kinds.count("stored") == 8
        assert kinds.count("prompt") == 8

    async def test_a_deleted_run_leaves_no_chunk_behind(
        self, memory: MemoryManager, engine: Engine
    ) -> None:
        from waypost.content import repository

        recorder = memory.recorder("run")
        await recorder.start()
        await several_steps(ContentChannel(memory.content("run"), recorder=recorder))
        kept = await memory.content("other").store("kept elsewhere")
        await engine.database.write(repository.delete_run, "planner", "run", agent="planner")
        assert await engine.database.read(count_chunks, agent="planner") == 1
        assert (await memory.content("other").retrieve(kept.content_id)).text == "kept elsewhere"

    async def test_the_tools_store_open_find_remember_and_recall(
        self, memory: MemoryManager
    ) -> None:
        tools = ToolExecutor(memory.content("run"), memory)
        stored = await tools.run("store_in_memory", {"content": PAGE, "tags": ["sea"]})
        found = await tools.run("query_memory", '{"text": "bergen"}')
        assert stored.content_id is not None
        assert stored.content_id in found.text
        asked = {"id": stored.content_id, "question": "Is the harbour old?"}
        opened = await tools.run("retrieve_from_memory", asked)
        assert "The harbour of Bergen is old." in opened.text
        await tools.run("remember", {"content": "The ferry leaves at noon.", "kind": "fact"})
        recalled = await tools.run("recall", {"query": "When does the ferry leave?"})
        assert "The ferry leaves at noon." in recalled.text


async def several_steps(channel: ContentChannel) -> list[Prompt]:
    channel.add_system("You are a clerk. " * 80)
    channel.add_user("Read eight pages.")
    sent = []
    for n in range(8):
        sent.append(await channel.prompt())
        [call] = await channel.add_assistant("Next.", [ToolCall(f"call{n}", "visit", {"n": n})])
        await channel.add_result(call.id, PAGE.replace("old", f"{n} years old"), source="visit")
    return sent


def count_chunks(connection: object) -> int:
    from sqlalchemy import Connection, func, select

    from waypost.store.tables import content_blobs

    assert isinstance(connection, Connection)
    return connection.execute(select(func.count()).select_from(content_blobs)).scalar_one()


class TestContentOnFile(OnFile, ContentContract):
    pass


class TestContentInMemory(InMemory, ContentContract):
    pass


class TestContentOnPostgres(OnPostgres, ContentContract):
    pass


def test_the_default_policy_is_the_documented_one() -> None:
    assert Policy().rule.show.value == "once"
