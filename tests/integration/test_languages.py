"""Conversations in several languages: what is derived from them, how they are found, and what forgetting leaves."""

from __future__ import annotations

import pytest

from neurigraph_pipelines.graph.navigation import shell
from neurigraph_pipelines.graph.record_lists import RecordFilter, list_records
from neurigraph_pipelines.lifecycle.erasure.forget import forget
from neurigraph_pipelines.lifecycle.erasure.receipts import ErasureSubject, SubjectKind
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.retrieval.ask import ask
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.retrieval.query.search import search
from neurigraph_pipelines.retrieval.quotes import best_quotes
from neurigraph_pipelines.text.lexemes import Lexer
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.corpus import counted, passages_with
from tests.support.memories import WordEmbedder, converse, ingest, new_user, node_rows, plain_context, rows, schemas_of

GERMAN = (
    "Wir haben uns am Samstag zwei alte Bauernhäuser in Kitzbühel angesehen, mit großem Garten.",
    "Wie haben euch die Häuser gefallen?",
    "Das erste Bauernhaus war feucht, das zweite hat einen neuen Ofen und kostet 420.000 Euro.",
)
SPANISH = (
    "Ayer firmamos el contrato del taller de cerámica con el dueño, y los hornos llegan en enero.",
    "¿Cuánto cuesta el alquiler del taller?",
    "Son 650 euros al mes, y los hornos los pagamos aparte, 1.900 euros cada uno.",
)
FRENCH = (
    "Dimanche, ma sœur a préparé un gâteau aux noisettes pour l'anniversaire de notre grand-mère.",
    "Est-ce que les gâteaux étaient bons ?",
    "Oui, mais l'une des recettes manquait de noisettes et le four de la cuisine ne chauffait pas.",
)
JAPANESE = (
    "来週の土曜日に母の家で誕生日会をします。ケーキは駅前の店で予約しました。",
    "誕生日会には何人来ますか。",
    "全部で八人です。ケーキの代金は四千円で、土曜日の朝に受け取ります。",
)
ENGLISH = (
    "The landlord fixed the boiler on Friday and the plants in the hall died in the cold.",
    "Which plants died?",
    "The two ferns. The boiler houses a new pump now.",
)
EVERYDAY = set("der die das und ich wir mit war el la los que y ma les des pour oui mais est en es".split())


ROWS = """
    SELECT r.title, r.language::text AS language, s.languages
    FROM {schema}.metadata_records AS r
    INNER JOIN neurigraph.segments AS s ON r.record_id = s.record_id
"""
LANGUAGES = {"de": "german", "es": "spanish", "fr": "french", "other": "simple", "en": "english"}


def best(here: Installation, claims: Claims, query: str) -> str:
    """Return the text of the best message."""
    answer = search(here.acting_for(claims), Question(query, limit=5, message_limit=1))
    (quote,) = best_quotes(here.acting_for(claims), query, answer, 300).values()
    return quote.content


def test_memories_in_several_languages(installation: Installation) -> None:
    user, claims = new_user(installation)
    told = {"de": GERMAN, "es": SPANISH, "fr": FRENCH, "other": JAPANESE, "en": ENGLISH}
    for name, contents in told.items():
        converse(installation, claims, *contents, external_id=f"{name} {user.slug}")
    ingest(installation.context, user)
    page = list_records(installation.listing(claims, limit=10), RecordFilter())
    records = {record.title.split()[0]: record for record in page.items}

    # What is derived and stored is in the language of each.
    with installation.database.agent(claims) as tx:
        shells = {name: shell(tx, record.node_id) for name, record in records.items()}
    assert shells["en"].language == "en"
    for name, record in records.items():
        assert EVERYDAY.isdisjoint(topic.lower() for topic in record.topics), name
    stored = {
        row["title"].split()[0]: (row["language"], row["languages"])
        for schema in schemas_of(installation, user).values()
        for row in node_rows(installation, schema, ROWS)
    }
    assert stored == {
        name: (language, [language] if language != "english" else []) for name, language in LANGUAGES.items()
    }

    # Other forms of a word find it, in its language, whatever else is stored.
    for query, words in (
        ("Was kostete das Bauernhaus mit dem Ofen?", "420.000"),
        ("feuchte Bauernhäuser", "feucht"),
        ("¿cuándo llega el horno?", "hornos llegan"),
        ("les gâteaux d'anniversaire", "gâteau"),
        ("ケーキの代金", "四千円"),
        ("Which plant died?", "ferns"),
    ):
        assert words in best(installation, claims, query), query

    # Forgetting removes words in their own language, and then nothing is asked in it.
    german = Lexer("german").lexemes("Bauernhaus Ofen")
    assert all(passages_with(counted(installation, user), word) for word in german)
    forget(installation.acting_for(claims), ErasureSubject(SubjectKind.RECORD, records["de"].record_id), through="test")
    known = counted(installation, user)
    assert {one for _, _, languages in known["nodes"].values() for one in languages} == {"spanish", "french", "simple"}
    assert [passages_with(known, word) for word in german] == [0, 0]
    said = "SELECT concat_ws(' ', node_summary, node_keywords) AS said FROM neurigraph.graph_index WHERE user_id = %s"
    assert not any("haus" in row["said"].lower() for row in rows(installation, said, user.user_id))


@pytest.mark.parametrize(
    ("told", "asked"),
    [
        ("내 동생 지영이는 부산에서 간호사로 일한다.", "부산"),
        ("회의는 금요일 오후 세 시로 바뀌었다.", "회의"),
        ("집주인은 김 씨이고 월세는 오십만 원이다.", "월세"),
        ("我们的猫叫豆豆，是一只橘猫。", "猫"),
        ("父は来週から大阪の病院に入院します。", "父"),
        ("The hives are well 🐝 this spring.", "🐝"),
    ],
)
def test_particles_and_single_characters_are_found(shared_installation: Installation, told: str, asked: str) -> None:
    user, claims = new_user(shared_installation)
    others = (
        "나는 땅콩 알레르기가 있다.",
        "妹妹今年申请了三所大学。",
        "来週は学校が休みです。",
        "The car is in the shop.",
    )
    for number, content in enumerate((told, *others)):
        converse(shared_installation, claims, content, external_id=f"{number} {user.slug}")
    ingest(plain_context(shared_installation), user)
    context = plain_context(shared_installation).acting_for(claims)
    found = search(context, Question(asked))
    assert best_quotes(context, asked, found, 300)[found.hits[0].key].content == told
    answering = shared_installation.context.using(embedder=WordEmbedder()).acting_for(claims)
    assert told in ask(answering, Question(asked)).answer
