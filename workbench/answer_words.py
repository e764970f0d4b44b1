"""Our own English word lists that tell a good answer from other words of a conversation."""

from __future__ import annotations

__all__ = ["FOLLOWED", "OPENINGS", "PERSONAL", "PLACED", "TIME_WORDS", "TITLED"]

# What stands before a place.
PLACED = frozenset((*("in", "to", "at", "from", "near", "on", "visited", "around"),))

# What an answer often follows: "my dog is called ..", "it means ..".
FOLLOWED = frozenset(
    (
        *("is", "are", "was", "were", "be", "been", "being", "called", "named", "like", "love"),
        *("loves", "means", "for"),
    )
)

# Words of a first or second person: whoever asks speaks of a third one.
PERSONAL = frozenset((*("i", "you", "we", "me", "my", "your", "our", "us", "it", "i'm", "i've"),))

# Words that open a turn without adding to it.
OPENINGS = frozenset(
    (
        *("wow", "yeah", "yes", "hey", "hi", "hello", "thanks", "thank", "right", "oh", "cool"),
        *("sure", "no", "well", "really", "okay", "ok", "absolutely", "definitely", "congrats"),
        *("totally", "agreed", "haha", "exactly", "sounds", "glad"),
    )
)

# Words that say when: no answer to another question.
TIME_WORDS = frozenset(
    (
        *(
            "monday",
            "tuesday",
            "wednesday",
            "thursday",
            "friday",
            "saturday",
            "sunday",
            "mon",
            "tue",
        ),
        *("tues", "wed", "thu", "thur", "thurs", "fri", "sat", "sun", "today", "yesterday"),
        *("tomorrow", "tonight", "last", "next", "week", "weekend", "month", "year", "day"),
        *(
            "morning",
            "evening",
            "ago",
            "lately",
            "recently",
            "soon",
            "january",
            "february",
            "march",
        ),
        *("april", "may", "june", "july", "august", "september", "october", "november"),
        *("december", "summer", "winter", "spring", "autumn", "fall"),
    )
)

# Words of a question whose answer may stand in quotes.
TITLED = frozenset(
    (
        *("book", "books", "song", "songs", "movie", "movies", "film", "game", "title", "name"),
        *("called", "say", "said", "poem", "sign"),
    )
)
