from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.content.identifiers import content_id, normalise_id
from waypost.exceptions import InvalidInput


def test_ids_of_a_run_are_all_different() -> None:
    ids = {content_id("run", number) for number in range(5000)}
    assert len(ids) == 5000


def test_ids_stay_unique_when_four_characters_are_used_up() -> None:
    edge = 31**4
    ids = [content_id("run", number) for number in range(edge - 3, edge + 3)]
    assert len(set(ids)) == 6
    assert len(ids[-1]) == len(ids[0]) + 1


def test_neighbouring_items_do_not_look_alike() -> None:
    first, second = content_id("run", 1), content_id("run", 2)
    assert sum(a != b for a, b in zip(first, second, strict=True)) >= 3


def test_an_id_has_no_character_that_is_read_for_another() -> None:
    assert not set("01ilo") & set("".join(content_id("r", n)[2:] for n in range(2000)))


@given(st.text(min_size=1, max_size=20), st.integers(0, 2_000_000), st.data())
def test_one_wrong_character_is_always_noticed(run: str, number: int, data: st.DataObject) -> None:
    good = content_id(run, number)
    place = data.draw(st.integers(2, len(good) - 1))
    other = data.draw(
        st.sampled_from([c for c in "23456789abcdefghjkmnpqrstuvwxyz" if c != good[place]])
    )
    with pytest.raises(InvalidInput, match="wrong character"):
        normalise_id(good[:place] + other + good[place + 1 :])


@given(st.text(min_size=1, max_size=20), st.integers(0, 2_000_000), st.data())
def test_two_swapped_neighbours_are_always_noticed(
    run: str, number: int, data: st.DataObject
) -> None:
    good = content_id(run, number)
    place = data.draw(st.integers(2, len(good) - 2))
    swapped = good[:place] + good[place + 1] + good[place] + good[place + 2 :]
    if swapped != good:
        with pytest.raises(InvalidInput):
            normalise_id(swapped)


@pytest.mark.parametrize("wrap", ["{}", "[{}]", ' "{}" ', "`{}`.", "({}),"])
def test_what_models_put_around_an_id_is_forgiven(wrap: str) -> None:
    good = content_id("run", 7)
    assert normalise_id(wrap.format(good)) == good
    assert normalise_id(wrap.format(good.upper())) == good
    assert normalise_id(wrap.format(good[2:])) == good


@pytest.mark.parametrize("bad", ["", "c-", "abc", "c-ab!de", "the web page", "c-0000"])
def test_what_is_no_id_is_refused_with_an_example(bad: str) -> None:
    with pytest.raises(InvalidInput, match="one looks like c-"):
        normalise_id(bad)
