"""Which sentences are not facts about their speaker, and why: precision before recall.

Every rule errs on the side of leaving a sentence out: a wrong memory is confirmed each time that it
is recalled, while a missing one is still found among the turns.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

from workbench.memory.words import (
    base_verbs,
    noun_like_verbs,
    past_forms,
    phrase_list,
    third_person_forms,
    word_list,
)

__all__ = ["has_finite_verb", "reason_left_out"]

LEAST_WORDS, MOST_WORDS = 3, 60
LEAST_WORDS_WITHOUT_I = 4
LASTING_STATE = re.compile(r"I'm ([\w-]+)\W*", re.IGNORECASE)
WORD = re.compile(r"[A-Za-z\u00c0-\u024f][\w'\u00c0-\u024f-]*")
FIRST_PERSON = re.compile(r"\b(?:I|me|my|mine|myself|we|us|our|ours|ourselves)\b", re.IGNORECASE)
OTHER_PERSON = re.compile(r"\b(?:you|your|yours|yourself|yourselves|y'all|ya)\b", re.IGNORECASE)
MARKUP = re.compile(r"[<>{}\[\]|`\\]|https?:|www\.")
QUOTED = re.compile(r"\"[^\"]*\b(?:I|me|my|we|you|your)\b[^\"]*\"", re.IGNORECASE)
# Pronouns and nouns that point at something said or shown earlier, whatever surrounds them.
POINTING = re.compile(
    r"^(?:it|that|this|they|he|she|those|these|there|here|which|who|such|one|its|his|her|their|the)\b"
    r"|\b(?:this|these|those) (?!who\b|with\b)\w+|\b(?:this|these|those)(?=[.,!]|$)"
    r"|\b(?:about|of|with|for|like|from|at|do|did|doing|done|on|to|after|all|by|had|share) that"
    r"(?=[.,!]|$| (?:and|but|before|again|too|with|in)\b)"
    r"|(?:, |\band |\bbut |\bbecause |\bthink |\bthought |\bknow |\bso )that(?:'s| is| was)\b"
    r"|\bthat (?:way|feeling|moment|kind|happens?|stuff|day|time|part|energy|spirit)\b"
    r"|\b(?:that|another|the|new|favou?rite|same) ones?\b(?! (?:of|day|who|with))"
    r"|\b(?:been|be|had|have|made|making|tried|bought|got) one\b(?! (?:of|day)\b)|\bever since\b"
    r"|\bthere\b(?! (?:is|are|was|were|has|have|will|wasn't|aren't|isn't)\b|'s|'re)"
    r"|\bhere\b(?! in\b)|\b(?:do|did|think|hope|say|said|told|feel) so(?=[.,!]|$)"
    r"|\bdo(?:ing)? (?:it|the same)\b|\b(?:keep|try|trying|give) it\b"
    r"|(?<!make)(?<!worth)(?<!need)(?<!needs)(?<!enjoy)(?<!love) it(?=[.!]*$)"
    r"|\b(?:tomorrow|yesterday|tonight)'s\b",
    re.IGNORECASE,
)
# "I painted that lake": a demonstrative before a noun, but not "I learned that paint dries".
# Taste is let through: "I loved that book" tells of its speaker, whichever book it was.
DEMONSTRATIVE = re.compile(
    r"\b(?:in|at|on|for|with|about|had|took|take|made|capture|spread|got|saw|see|want|read|chose|"
    r"(?!(?:loved|liked|enjoyed|hated|missed|learned|noticed|mentioned|decided|discovered|reali[sz]ed|"
    r"believed|showed|hoped|agreed|promised|wished|remembered|reminded)\b)\w+ed) that "
    r"(?!(?:i|we|he|she|they|it|the|my|our|an?|is|was|will|would|can|has|could|really|helps?)\b)\w+",
    re.IGNORECASE,
)
# Beginnings without a subject of their own, where what is said of "me" is said of something before.
HEADLESS = re.compile(
    r"^(?:much|since|almost|as|like|especially|because|which|been|not|such|of|for|to|with|by|even|"
    r"from|or|than|that's|plus|every time|only|still|won't|can't|don't|didn't|"
    r"(?:an?|another) \w+ to|far|what|pretty|so|super|too|more|totally)\b(?!.*, (?:I|we|my)\b)",
    re.IGNORECASE,
)
# "We" and "our" that mean people in general, or both who are talking.
GENERAL_WE = re.compile(
    r"^(?:We(?:'re| are|'ve)? (?:all|can|know|need|deserve|come|have come|make)\b|Our (?!own))",
    re.IGNORECASE,
)
# "It" that stands for a clause which follows needs nothing before it.
EXPLETIVE = re.compile(
    r"\bit(?:'s| is| was| can be| would be| feels| felt)(?: \w+ly| so| really| very| been)? "
    r"(?:\w+) (?:to|that|when|how)\b"
    r"|\b(?:makes?|made|finds?|found) it (?:\w+ )?\w+ (?:to|for)\b"
    r"|\bit(?:'s| has) been\b|\bit (?:takes?|took|turns?|turned)\b",
    re.IGNORECASE,
)
WE_SUBJECT = re.compile(r"^(?:We\b|(?:On|In|Lately|Recently|Now|Last|When|As)\b.*\bwe\b)")
HE_OR_SHE = re.compile(r"(?:s?he|him|hers?|his)(?:'\w+)?")
THEY = re.compile(r"(?:they|them|theirs?)(?:'\w+)?")
# A verb follows these.
SUBJECTS = frozenset(
    ("i", "we", "they", "to", "i'm", "we're", "am", "is", "are", "was", "were", "been", "keep")
)
IT = re.compile(r"its?(?:'\w+)?")


def reason_left_out(sentence: str) -> str | None:
    """Why the sentence gives no fact about its speaker, or None where it may.

    `sentence` is in `plain` spelling and begins with its content, not with "Yeah, well".
    """
    return next((reason for reason, applies in GATES if applies(sentence)), None)


def is_question(sentence: str) -> bool:
    return "?" in sentence


def is_pleasantry(sentence: str) -> bool:
    """Greetings, thanks, wishes, agreement, promises, compliments, talk about the conversation."""
    return any(pattern.search(sentence) for pattern in _pleasantries())


def is_request(sentence: str) -> bool:
    """Whether it begins with a base form: "Check it out"."""
    words = WORD.findall(sentence.lower())
    return bool(words) and words[0] in base_verbs() and not FIRST_PERSON.match(sentence)


def is_headless(sentence: str) -> bool:
    """Whether it has no subject of its own: "Reminds me of home", "Since I was 17"."""
    first = sentence.split(" ", 1)[0].lower()
    verb = first in past_forms() or first in third_person_forms() or first.endswith("ed")
    if first.endswith("ing") and not has_finite_verb(sentence):
        return True
    return bool(HEADLESS.match(sentence)) or verb or first.endswith("ly")


def has_finite_verb(sentence: str) -> bool:
    """Whether some form in it can be a gerund's predicate: "Losing my job was hard"."""
    words = WORD.findall(sentence.lower())
    forms = (past_forms(), third_person_forms(), word_list("unchanged"))
    finite = any(word in known for word in words for known in forms)
    contracted = re.search(r"\b(?:is|are|have)\b|'s (?:an?|been|so|the)\b", sentence)
    return finite or contracted is not None


def is_general(sentence: str) -> bool:
    """Whether its first person is people at large: "We all need rest", "Being ourselves is key"."""
    family = re.match(r"Our (\w+)", sentence)
    if family and family[1] in word_list("people"):
        return False
    only_plural = not re.search(r"\b(?:I|me|my|myself|mine)\b", sentence, re.IGNORECASE)
    return bool(GENERAL_WE.match(sentence)) or (only_plural and not WE_SUBJECT.search(sentence))


def has_dangling_pronoun(sentence: str) -> bool:
    """Whether a word points at something that the sentence itself does not name."""
    if POINTING.search(sentence) or DEMONSTRATIVE.search(sentence):
        return True
    words = WORD.findall(EXPLETIVE.sub(" ", sentence))
    return any(_lacks_antecedent(word.lower(), words[:place]) for place, word in enumerate(words))


def _lacks_antecedent(pronoun: str, before: list[str]) -> bool:
    if before and before[-1].endswith("ing"):  # "Playing it": the verb of the pronoun itself
        before = before[:-1]
    nouns = [word for place, word in enumerate(before) if _is_noun(word, before[:place])]
    if HE_OR_SHE.fullmatch(pronoun):
        return not any(_is_person(word) or word[0].isupper() for word in nouns)
    if THEY.fullmatch(pronoun):
        return not any(_is_person(word) or word.endswith("s") for word in nouns)
    return IT.fullmatch(pronoun) is not None and all(_is_person(word) for word in nouns)


def _is_noun(word: str, before: list[str]) -> bool:
    """Whether a word may be a noun where it stands: "love" in "my love", not in "we love"."""
    verbal_place = bool(before) and (
        before[-1].lower() in SUBJECTS or before[-1].lower() in word_list("adverbs")
    )
    verbal_form = word.lower() in base_verbs() or word.endswith("ing")
    return _is_nominal(word) and not (verbal_place and verbal_form)


def _is_person(word: str) -> bool:
    return word.lower() in word_list("people")


def _is_nominal(word: str) -> bool:
    """Whether a word may be a noun: not a function word, not only a verb, no adverb."""
    word = word.lower()
    return not (
        word in word_list("function_words")
        or word in word_list("adverbs")
        or word.endswith("ly")
        or word in past_forms()
        or (word in base_verbs() and word not in noun_like_verbs())
    )


@cache
def _pleasantries() -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(line, re.IGNORECASE) for line in phrase_list("pleasantries"))


def _is_too_short(sentence: str) -> bool:
    state = LASTING_STATE.fullmatch(sentence)
    if state:
        return state[1].lower() not in word_list("states")
    least = LEAST_WORDS if sentence.startswith("I ") else LEAST_WORDS_WITHOUT_I
    return len(WORD.findall(sentence)) < least


def _is_too_long(sentence: str) -> bool:
    return len(sentence.split()) > MOST_WORDS


def _speaks_of_another(sentence: str) -> bool:
    return bool(OTHER_PERSON.search(sentence))


def _leaves_speaker_out(sentence: str) -> bool:
    return not FIRST_PERSON.search(sentence)


def _quotes(sentence: str) -> bool:
    return bool(QUOTED.search(sentence)) or sentence.count('"') % 2 == 1


def _is_markup(sentence: str) -> bool:
    return bool(MARKUP.search(sentence))


# In the order in which they are asked; the first that applies is the one counted.
GATES: tuple[tuple[str, Callable[[str], bool]], ...] = (
    ("question", is_question),
    ("markup or address", _is_markup),
    ("quotation", _quotes),
    ("about the other person", _speaks_of_another),
    ("pleasantry", is_pleasantry),
    ("too short", _is_too_short),
    ("too long", _is_too_long),
    ("not about the speaker", _leaves_speaker_out),
    ("request", is_request),
    ("no subject of its own", is_headless),
    ("people in general", is_general),
    ("dangling reference", has_dangling_pronoun),
)
