"""Words that say nothing about what a text is about."""

from __future__ import annotations

STOP_WORDS = frozenset(
    """
    a about above absolutely actually after again against ago ah all also although always am
    amazing an and another any anyone anything are around as ask at awesome away back be because
    been before being believe below best better between big bit both but by bye came can
    certainly come congrats cool could course day days did didn do does doesn doing don done
    down during each either else enough even ever every everyone everything exactly excited far
    feel feeling few first for found from fun further get gets getting give given glad go goes
    going gone gonna good got great guess had has have having he hear heard hello help her here
    hers herself hey hi him himself his hope how however i if im in indeed inside instead into
    is isn it its itself just keep kind know last lately later least less let like little lol
    long look looking looks lot lots love lovely made make makes making many may maybe me mean
    might mine more most much must my myself need never new next nice no nope not nothing now of
    off often oh ok okay old on once one only onto or other others our ours ourselves out over
    own people perhaps please pretty probably put quite rather re really right said same saw say
    says see seem seems seen she should since so some somebody someone something sometimes soon
    sorry sounds started still stuff such super sure take takes taking talk tell than thank
    thanks that the their theirs them themselves then there these they thing things think this
    those though thought through time times to today together told too took tonight tomorrow
    totally tried try trying two under until up upon us use used using ve very via want wanted
    was wasn way we week well went were what whatever when where whether which while who whole
    whom whose why will with within without won wonderful would wow yeah year years yep yes
    yesterday yet you your yours yourself monday tuesday wednesday thursday friday saturday
    sunday let's i'm i've i'll i'd it's that's there's don't didn't can't won't isn't doesn't
    you're we're they're what's
    """.split()  # noqa: SIM905
)
