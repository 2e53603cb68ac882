"""What a question asks for: a time, an amount, a person, a place. And whether a sentence has such a thing.

Closed classes of words in English, German, Spanish and French; anything else is compared by ``answers``. Linear in the
length of any text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from neurigraph_pipelines.text.calendar_words import MONTHS, MONTHS_SHORT, SEASONS, WEEKDAYS
from neurigraph_pipelines.text.lexemes import Lexer


class Kind(Enum):
    """The kind of answer that a question wants."""

    WHEN = "when"
    MONEY = "money"
    COUNT = "count"
    MEASURE = "measure"
    WHO = "who"
    WHERE = "where"
    NAME = "name"
    NUMBER = "number"
    YES_NO = "yes or no"
    OTHER = "other"


_ASKING = {
    Kind.WHEN: "when wann cuándo cuando quand",
    Kind.WHERE: "where wo woher wohin dónde donde adónde où",
    Kind.WHO: "who whom whose wer wem wen wessen quién quiénes quien qui",
    Kind.OTHER: "why warum wieso weshalb pourquoi",
}
_BY_WORD = {word: kind for kind, words in _ASKING.items() for word in words.split()}
_WHAT = frozenset(
    "what what's which was welche welcher welches welchen welchem qué que cuál cual cuáles quel quelle quels quelles".split()
)
_HOW = frozenset("how wie cómo comment".split())
_MANY = frozenset("many viele cuántos cuántas cuantos cuantas".split())
_MUCH = frozenset("much viel cuánto cuánta cuanto cuanta combien".split())
_SIZES = {
    "long": "time length",
    "lang lange": "time length",
    "far weit": "length",
    "big large tall high deep wide thick groß hoch tief breit dick": "length weight number money",
    "old alt": "time",
    "heavy schwer": "weight",
    "often oft": "often number",
    "hot cold warm heiß kalt": "degrees",
    "fast schnell": "time length number",
    "late early": "time number",
}
_BY_SIZE = {word: dimensions.split() for words, dimensions in _SIZES.items() for word in words.split()}
_NOUNS = {
    Kind.WHEN: "day date month year weekday tag datum monat jahr wochentag día fecha mes año jour",
    Kind.MONEY: """price cost costs salary wage rent fee budget sum amount loan deposit fine preis gehalt miete lohn betrag
        gebühr kosten schaden precio sueldo alquiler salario tarifa importe prix loyer""",
    Kind.MEASURE: """temperature value dose weight size length height rate percentage speed distance level share age time
        temperatur wert dosis gewicht größe länge höhe alter valor peso tamaño edad""",
    Kind.NAME: """name brand model publisher title make marke modell verlag titel nombre marca modelo título nom marque
        called heißt llama""",
    Kind.NUMBER: "number phone code address nummer telefonnummer adresse número dirección teléfono numéro",
}
_BY_NOUN = {noun: kind for kind, nouns in _NOUNS.items() for noun in nouns.split()}
_MONEY_WORDS = re.compile(
    r"\b(?:costs?|pay|pays|paid|paying|earns?|earned|charged?|charges|spend|spent|owes?|worth|saved?|sell|sold|lend|lent|"
    r"borrow\w*|raised?|price|salary|fee|rent|grant|fine|deposit|loan|budget|kostet\w*|kosten|zahl\w*|bezahl\w*|"
    r"verdien\w*|ausgegeben|miete|gehalt|preis|cuesta\w*|costó|paga|pagó|pagan|gana|ganó|gastó|vale|coûte|gagne)\b"
)
_WEIGHS = frozenset("weigh weighed weighs wiegt wog pesa pesó".split())
_ASKING_WORDS = frozenset(
    f"much many long often {' '.join(word for words in _NOUNS.values() for word in words.split())} kind type cost "
    "costs pay take took".split()
)
"""Words of a question that the answer need not repeat: the thing itself is there."""
_GERMAN = frozenset("der die das den dem ist kostet wird wurde hat haben wiegt macht ein eine einen kommt passiert".split())
_AUXILIARIES = frozenset(
    """did does do is are was were will would can could may might must should shall has have had am isn't aren't didn't
    doesn't wasn't weren't won't hasn't haven't hadn't""".split()
)

_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_CAPITAL = re.compile(r"(?<![\w'’-])[^\W\d_a-zß-öø-ÿ][\w'’-]*")

_DATE_WORDS = "|".join(
    (
        *WEEKDAYS,
        *(month for month in MONTHS if month != "may"),
        *(short for short in MONTHS_SHORT if short not in ("may", "mar", "dec")),
        *SEASONS,
        *"today tomorrow yesterday tonight weekend christmas easter midnight noon birthday".split(),
        *"montag dienstag mittwoch donnerstag freitag samstag sonnabend sonntag januar jänner februar märz mai juni juli".split(),
        *"oktober dezember heute morgen gestern übermorgen wochenende frühling sommer herbst ostern weihnachten".split(),
        *"lunes martes miércoles jueves viernes sábado domingo enero febrero marzo abril mayo junio julio agosto".split(),
        *"septiembre octubre noviembre diciembre hoy mañana ayer primavera verano otoño invierno navidad".split(),
        *"lundi mardi mercredi jeudi vendredi samedi dimanche janvier février mars avril juin juillet août".split(),
        *"septembre octobre novembre décembre demain hier".split(),
    )
)
_DATE = re.compile(
    rf"\b(?:(?:{_DATE_WORDS})s?|May|\d{{1,2}}(?:st|nd|rd|th)|(?:19|20)\d\d(?!\d)|\d{{1,2}}\.(?=\s|,)|"
    r"\d{1,2}[:.]\d\d(?: ?uhr)?|\d{1,2} ?(?:am|pm|uhr)|(?:last|next|this|past|nächste\w?|letzte\w?|seit|vor|since|"
    r"el próximo|la próxima|hace|desde) (?:\w+ ){0,2}(?:week|month|year|night|day|woche|monat|jahr|tag|semana|mes|año|día)\w{0,2}|"
    r"(?:\d+|a|an|two|three|four|five|six|few|couple of) (?:day|week|month|year)s? (?:ago|later|back))\b|\b\d{1,2}\.$",
    re.I,
)
_NUMERAL = (
    r"(?:\d+(?:[.,:/]\d+)*|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|"
    r"sixteen|seventeen|eighteen|nineteen|(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)(?:-\w+)?|hundred|"
    r"thousand|million|half|both|none|dozen|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|elf|zwölf|hundert|tausend|"
    r"dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez|once|doce|veinte|treinta|cien|mil|deux|trois|quatre|cinq|sept|"
    r"huit|neuf|dix)"
)
_NUMBER = re.compile(rf"(?<!\w){_NUMERAL}(?!\w)", re.I)
_CURRENCY = (
    r"(?:euros?|eur|cents?|dollars?|bucks|pounds?|quid|francs?|yen|kronor|kroner|pesos?|rupees?|lakh|crore|shillings?|"
    r"rand|reais|zloty|k|grand|million|usd|gbp|chf|a (?:month|year|week|day|head|person|kilo|hour)|each|per \w+|"
    r"im monat|pro \w+|al mes|por \w+)"
)
_MONEY = re.compile(rf"[€$£¥₹]\s?\d|\d\s?[€£¥₹$]|(?<!\w){_NUMERAL}(?:[.,]-+)?\s?{_CURRENCY}(?!\w)", re.I)
_UNITS = {
    "length": r"km|kilomet\w+|m|met(?:re|er|ro)s?|cm|centimet\w+|mm|millimet\w+|feet|foot|ft|inch\w*|miles?",
    "weight": r"kg|kilos?|g|gram\w*|pounds?|lbs?|tonn?e?s?|mg|ml|l|lit\w+",
    "time": r"hours?|minutes?|seconds?|days?|weeks?|months?|years?|nights?|h|min|stunden?|minuten?|tage?n?|wochen?|monate?n?|"
    r"jahre?n?|horas?|minutos?|días?|semanas?|mes(?:es)?|años?",
    "degrees": r"degrees?|°\w?|grade?n?|grados?",
    "other": r"percent|per cent|%|prozent|por ciento|points?|mg|grams? per \w+",
}
_UNIT = {name: re.compile(rf"(?<!\w){_NUMERAL}\s?-?(?:{units})(?!\w)", re.I) for name, units in _UNITS.items()}
_OFTEN = re.compile(r"\b(?:every|once|twice|times|daily|weekly|monthly|each|jede\w?|täglich|mal|cada|veces)\b", re.I)
_PLACE = re.compile(
    r"\b(?:in|at|to|from|near|on|into|behind|under|inside|outside|by|around|im|am|beim|bei|aus|nach|zum|zur|auf|en|a|al|"
    r"de|del|cerca|à|chez)\s+(?:(?:the|a|an|my|our|his|her|their|der|die|das|dem|den|einem|einer|mein\w*|unser\w*|la|el|"
    r"los|las|un|una|mi|le)\s+)?(?P<first>\w)",
)
_KIN = re.compile(
    r"\b(?:my|our|his|her|their|the|mein\w?|unser\w?|mi|mis|su) (?:\w+ ){0,1}"
    r"(?:mother|father|mum|mom|dad|sister|brother|son|daughter|aunt|uncle|cousin|niece|nephew|grandmother|grandfather|"
    r"husband|wife|partner|friend|boss|neighbou?r|colleague|doctor|teacher|coach|landlord|schwester|bruder|mutter|vater|"
    r"tante|onkel|freund\w*|nachbar\w*|hermano|hermana|madre|padre|prim[oa]|amig[oa]|vecin[oa])"
)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, read.

    Attributes:
        anchors: The lexemes that an answer is about, without those that only say what is asked for.
        names: Its capitalised words but the first, as lexemes.
        focus: The lexemes of what is counted, such as *guests* in "How many guests come?".
        dimensions: The units in which it is measured; none if any.
        is_own: Whether the person who asks is its subject.
    """

    kind: Kind
    anchors: frozenset[str]
    names: frozenset[str]
    focus: frozenset[str]
    dimensions: tuple[str, ...]
    is_own: bool


_OWN = frozenset("i my me we our us ich mein meine wir mir uns yo mi mis nos nuestro nuestra".split())


def read(question: str, lexer: Lexer) -> Asked:
    """Read a question."""
    words = [match.group() for match in _WORD.finditer(question)]
    lower = [word.lower().replace("’", "'") for word in words]
    kind, after, dimensions = _kind(lower)
    focus = next((found for word in lower[after:] if (found := frozenset(lexer.lexemes(word)))), frozenset())
    names = frozenset(stem for word in words[1:] if word[:1].isupper() for stem in lexer.lexemes(word))
    all_ = frozenset(stem for word in lower for stem in lexer.lexemes(word))
    anchors = frozenset(stem for word in lower if word not in _ASKING_WORDS for stem in lexer.lexemes(word))
    return Asked(kind, anchors or all_, names, focus, tuple(dimensions), not _OWN.isdisjoint(lower))


def _kind(words: list[str]) -> tuple[Kind, int, list[str]]:
    """Return the kind, how many words come before what it is about, and the dimensions of a measure."""
    text = " ".join(words)
    if words and words[0] in _AUXILIARIES and not (words[0] == "was" and not _GERMAN.isdisjoint(words)):
        return Kind.YES_NO, 1, []
    for place, word in enumerate(words):
        following = words[place + 1 : place + 7]
        if word in _MANY:
            return Kind.COUNT, place + 1, []
        if word in _MUCH:
            return (Kind.MONEY if _MONEY_WORDS.search(text) else Kind.MEASURE), place + 1, []
        if word in _HOW:
            size = following[0] if following else ""
            if size in _BY_SIZE:
                return Kind.MEASURE, place + 2, _BY_SIZE[size]
            if size not in _MANY and size not in _MUCH:
                return Kind.OTHER, place + 1, []
        if word in _BY_WORD:
            return _BY_WORD[word], place + 1, []
        if word in _WHAT:
            return *_what(following, text), []
    return (Kind.YES_NO, 0, []) if words else (Kind.OTHER, 0, [])


def _what(following: list[str], text: str) -> tuple[Kind, int]:
    if following[:1] == ["time"]:
        return Kind.WHEN, 1
    if not _WEIGHS.isdisjoint(following):
        return Kind.MEASURE, 1
    kind = next((_BY_NOUN[noun] for noun in following if noun in _BY_NOUN), None)
    if kind is not None:
        return kind, 1
    return (Kind.MONEY if _MONEY_WORDS.search(text) else Kind.OTHER), 1


def fit(asked: Asked, text: str, lexer: Lexer, known: frozenset[str]) -> float:
    """Return how well a sentence has what is asked for: 1 if it does, 0 if not, between if something like it.

    Args:
        known: Lexemes of names of people.
    """
    match asked.kind:
        case Kind.WHEN:
            return float(bool(_DATE.search(text)))
        case Kind.MONEY:
            return 1.0 if _MONEY.search(text) else 0.6 * _has_number(text)
        case Kind.MEASURE:
            return _measured(asked, text)
        case Kind.COUNT:
            return _counted(asked, text, lexer)
        case Kind.WHO:
            if names_in(text, lexer) & known - asked.anchors:
                return 1.0
            return 0.6 if _KIN.search(text) else 0.0
        case Kind.WHERE:
            places = [match["first"].isupper() for match in _PLACE.finditer(text)]
            return (1.0 if any(places) else 0.5) if places else 0.0
        case Kind.NAME:
            return float(bool(names_in(text, lexer) - asked.anchors))
        case Kind.NUMBER:
            return float(bool(_DIGITS.search(_DATE.sub(" ", text))))
        case _:
            return 0.5


_DIGITS = re.compile(r"\d[\d /-]{2,}")


def _has_number(text: str) -> bool:
    return bool(_NUMBER.search(_DATE.sub(" ", text)))


def _measured(asked: Asked, text: str) -> float:
    if "often" in asked.dimensions and _OFTEN.search(text):
        return 1.0
    names = [name for name in asked.dimensions if name in _UNIT] or list(_UNIT)
    if any(_UNIT[name].search(text) for name in names):
        return 1.0
    if (not asked.dimensions or "money" in asked.dimensions) and _MONEY.search(text):
        return 1.0
    return 0.6 * _has_number(text)


def _counted(asked: Asked, text: str, lexer: Lexer) -> float:
    best = 0.0
    for number in _NUMBER.finditer(_DATE.sub(" ", text)):
        best = 0.6
        if asked.focus.intersection(lexer.lexemes(text[number.end() : number.end() + 40])):
            return 1.0
    return best


def names_in(text: str, lexer: Lexer) -> frozenset[str]:
    """Return the lexemes of capitalised words within sentences."""
    return frozenset(
        stem
        for match in _CAPITAL.finditer(text)
        if match.start() and text[match.start() - 2] not in ".!?" and not _DATE.fullmatch(match.group())
        for stem in lexer.lexemes(match.group())
    )
