"""Values of which a thing has one at a time: when a passport expires, the code of a gate, a birthday, a home.

Closed forms of English and German, read from the words of a speaker, who may say "my" and "we". However it is put, each
gives the slot of the same thing: "The code of the gate is 4711", "Unser Torcode ist 4711". Every expression is linear.
"""

from __future__ import annotations

from neurigraph_pipelines.model.facts import THE_USER, Slot
from resources.offline.lexicon import forms
from resources.offline.written_names import NAME

_FORMS = forms("properties", name=f"(?-i:{NAME})")

RECURRING = frozenset(["birthday", "anniversary"])
"""Properties whose value is a day of every year: nothing happened on it."""

_READ = _FORMS.table("read")
_CALLED = {
    "kennwort": "password",
    "passwort": "password",
    "passphrase": "password",
    "geburtstag": "birthday",
    "hochzeitstag": "anniversary",
}


def property_of(said: str, speaker: str | None) -> Slot | None:
    """Return the property that a sentence gives a value; None if it asks, or has none of the forms.

    Args:
        said: The words of a speaker.
        speaker: How the speaker is called; None if what they say of themselves does not count.
    """
    for name, form in _READ if "?" not in said else ():
        if match := form.match(said):
            found = {key: value for key, value in match.groupdict().items() if value}
            what = found.get("what", "").casefold()
            value = f"no {found['lost']}" if "lost" in found else _FORMS.ordinal.sub("", found["value"])
            predicate = name or _CALLED.get(what, what)
            if what and predicate not in RECURRING and not _is_key(predicate, found, value):
                return None
            subject = _subject(found, speaker)
            return Slot(subject, predicate, value) if subject else None
    return None


def _is_key(predicate: str, found: dict[str, str], value: str) -> bool:
    """Return whether a value opens something: a password of any letters, or else of digits."""
    if predicate == "password":
        return _FORMS.no_key.fullmatch(value) is None
    things = found.get("thing", ""), found.get("whose", "") + "s"
    return any(map(str.isdigit, value)) and not any(map(_FORMS.formulaic.match, things))


def _subject(found: dict[str, str], speaker: str | None) -> str:
    """Return whose thing it is, and the thing. The things of a speaker without a name have no owner."""
    words = [found[name].casefold().rstrip("-") for name in ("thing", "part") if name in found]
    thing = " ".join(words[:1] if words[1:] and words[1] in words[0].split() else words)
    owner = found.get("whose", "")
    if "mine" in found or "lost" in found:
        if speaker is None:
            return ""
        owner = "" if thing and speaker == THE_USER else speaker
    return f"{owner}'s {thing}" if owner and thing else owner or thing
