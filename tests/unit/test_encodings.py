"""Encodings of text: told by the bytes, meant by what is declared, or refused."""

from __future__ import annotations

import pytest

from neurigraph_pipelines.model.errors import UnreadableFileError
from neurigraph_pipelines.text.encodings import UNKNOWN, decoded


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("Grüße aus Köln", "cp1252"),
        ("Café", "cp1252"),
        ("The rent is £900 – “fine”. 20 °C, 5 €", "cp1252"),
        ("Le café est à côté de l’hôtel, déjà fermé.", "cp1252"),
        ("El niño comió piña mañana en España.", "cp1252"),
        ("Perché no? È già lì, però costa più.", "cp1252"),
        ("Não há pão, amanhã é dia de São João.", "cp1252"),
        ("Příliš žluťoučký kůň úpěl ďábelské ódy.", "cp1250"),
        ("Zażółć gęślą jaźń, mieszkam w Łodzi.", "cp1250"),
        ("Toplantı Cuma gününe ertelendi, anahtarı getir.", "cp1254"),
        ("Η συνάντηση είναι την Παρασκευή", "cp1253"),
        ("Встреча перенесена на пятницу.\nКлючи у Анны.\n", "cp1251"),
        ("Встреча перенесена на пятницу, не забудь ключи", "koi8_r"),
        ("会议改到周五，地点在上海。\n", "gb2312"),
        ("會議改到星期五。請帶鑰匙。", "big5"),
        ("会議は金曜日です。\n場所は大阪。\n", "shift_jis"),
        ("会議は金曜日です。鍵を持ってきてください。", "euc_jp"),
        ("회의는 금요일로 변경되었습니다. 열쇠를 가져오세요.", "euc_kr"),
        ("Šiandien susitikimas, žmonės laukia prie durų į mišką.", "cp1257"),
        ("Sapulce ir pārcelta uz piektdienu. Atslēgas ir pie Jāņa, neaizmirsti maksāt īri.", "cp1257"),
        ("Příliš žluťoučký kůň úpěl ďábelské ódy.", "iso8859_2"),
        ("5 €, cœur", "iso8859_15"),
        ("Le loyer est de 5 €, déjà payé à ma sœur.", "iso8859_15"),
        ("会議", "iso2022_jp"),
        ("회의는 금요일로", "iso2022_kr"),
    ],
)
def test_encoding_shows_and_is_said(text: str, encoding: str) -> None:
    found, said = decoded(text.encode(encoding))
    assert found == text
    assert said is not None
    assert said.removeprefix("taken as ")[0].isupper(), "the name that people know, not the codec's"


@pytest.mark.parametrize(
    ("data", "declared", "text"),
    [
        (b"5 \x80 \x96 J\xf6rg", "iso-8859-1", "5 € – Jörg"),
        ("镕基楼".encode("gbk"), "gb2312", "镕基楼"),
        ("①会議".encode("cp932"), "Shift_JIS", "①会議"),
        ("똠방각하".encode("cp949"), "ks_c_5601-1987", "똠방각하"),
        ("Grüße".encode(), "us-ascii", "Grüße"),
        ("Grüße".encode(), "nonsense", "Grüße"),
        ("Grüße aus Köln".encode("cp1252"), "utf-8", "Grüße aus Köln"),
        ("Grüße".encode("utf-16"), None, "Grüße"),
    ],
)
def test_declared_encoding_is_what_writers_mean(data: bytes, declared: str | None, text: str) -> None:
    assert decoded(data, declared)[0] == text


@pytest.mark.parametrize(
    ("data", "text", "broken"),
    [
        ("Größe und Füße. ".encode() * 50 + b"\xff end", "Größe und Füße. " * 50 + "\ufffd end", 1),
        ("Jörg: Wie groß".encode()[:-1], "Jörg: Wie gro\ufffd", 1),
        ("Jörg: Grüße\n".encode() + b"J\xf6rg: ja", "Jörg: Grüße\nJ\ufffdrg: ja", 1),
    ],
)
def test_damaged_utf8_stays_utf8(data: bytes, text: str, broken: int) -> None:
    assert decoded(data) == (text, f"taken as UTF-8 with {broken} broken characters")


@pytest.mark.parametrize(
    "data",
    [
        bytes(range(128, 256)) * 3,
        "Привет".encode("cp1251"),
        "密码是 4711".encode("gbk"),
        "会议".encode("gbk"),
        "Jörg".encode() + b" und J\xf6rg",
        "Zażółć gęślą jaźń, mieszkam w Łodzi.".encode("iso8859_2"),
        "Café".encode()[:-1],
    ],
)
def test_unsure_encoding_is_refused(data: bytes) -> None:
    with pytest.raises(UnreadableFileError, match=UNKNOWN):
        decoded(data)


def test_incomplete_end_is_left_out_of_a_cut_text() -> None:
    assert decoded("Jörg: groß".encode()[:-1], is_cut=True) == ("Jörg: gro", None)
