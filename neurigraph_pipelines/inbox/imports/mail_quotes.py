"""The authors of a mail's words: the sender, and the authors of quoted and forwarded mails.

Words that are only quoted below an answer are left out. A quotation that is answered line by line stays, as quotation,
because the answers mean nothing without it. Forwarded words are of the one who wrote them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from email.utils import parseaddr

from neurigraph_pipelines.inbox.imports.mail_answers import compared, is_letter_to_sender, may_have_answers
from neurigraph_pipelines.inbox.imports.mail_attributions import (
    UNKNOWN,
    Letter,
    attribution,
    first_of_attribution,
    is_attribution,
    is_certain,
    is_dated,
    is_time,
    time_of,
    writer_of,
)

_NAMES = {
    "from": "from von de da van od från fra от expéditeur lähettäjä gönderen kimden feladó από від dela מאת nuo saatja "
    "من از từ จาก dari pošiljatelj "
    "发件人 寄件者 寄件人 差出人 送信者 보낸사람 보낸이",
    "date": "sent date gesendet datum enviado enviada envoyé fecha data inviato verzonden wysłano wysłane skickat "
    "sendt dato отправлено дата lähetetty tarih gönderildi gönderme elküldve küldve dátum στάλθηκε ημερομηνία "
    "надіслано відправлено trimis odesláno odoslané poslano изпратено נשלח תאריך išsiųsta saadetud kuupäev "
    "تاريخالإرسال تمالإرسال أرسلت الإرسال التاريخ تاریخ ارسال ngày đãgửi วันที่ ส่ง tanggal terkirim "
    "发送时间 发送日期 日期 时间 傳送時間 寄件日期 送信日時 日時 日付 보낸날짜 날짜",
    "to": "to an para pour à a aan do till til кому vastaanottaja kime címzett προς către catre pentru komu za до אל "
    "kam إلى الى به đến ถึง kepada adressaat "
    "收件人 收件者 宛先 받는사람",
    "subject": "subject betreff asunto assunto objet sujet oggetto onderwerp temat ämne emne тема aihe konu tárgy θέμα "
    "subiect předmět predmet zadeva относно נושא teema الموضوع موضوع chủđề tiêuđề เรื่อง subjek perihal "
    "主题 主旨 件名 제목",
    "copy": "cc bcc kopie copia kopia kopi dw копия másolatotkap másolat κοιν копія kópia kopija העתק نسخة رونوشت "
    "抄送 副本 참조",
}
_FIELDS = {word: field for field, words in _NAMES.items() for word in words.split()}
_FIELD = re.compile(r"[ \t*]{0,4}([^\W\d_][^\n:：]{0,20}?)[ \t*\u00a0]{0,4}[:：][ \t*\u00a0]{0,4}(.{0,500})$")
_DIRECTION = re.compile("[\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Marks of the direction of writing, which mail programs put beside names of fields."""
_LEAST_FIELDS = 3
_MOST_HEAD_LINES = 40

_FORWARDED = re.compile(
    r"[-=_* \t]{0,40}(?:begin |anfang der |début du |inizio |inizio del )?"
    r"(?:forwarded (?:message|by)|weitergeleitete[rn]? ?(?:nachricht|e-?mail)|weitergeleitet|mensaje reenviado|"
    r"mensagem (?:encaminhada|reencaminhada)|message (?:transféré|réexpédié)|messaggio (?:inoltrato|in oltro)|"
    r"doorgestuurd(?:e)? (?:bericht|e-?mail)|wiadomość przekazana|przekazana wiadomość|vidarebefordrat meddelande|"
    r"videresendt (?:melding|meddelelse)|пересылаемое сообщение|转发的邮件|轉寄的郵件|転送されたメッセージ|"
    r"továbbított (?:üzenet|levél|e-?mail)|προωθημένο (?:μήνυμα|e-?mail)|προώθηση μηνύματος|"
    r"пере(?:слане|силане|адресоване) повідомлення|"
    r"mesaj (?:redirecționat|redirectionat|transmis|înaintat|retrimis)|přeposlaná (?:zpráva|e-?mail)|preposlaná správa|"
    r"رسالة (?:مُ?عاد توجيهها|تمت? إعادة توجيهها|مُ?حوّ?لة|مُ?عاد إرسالها)|الرسالة المعاد توجيهها|پیام بازارسال شده|"
    r"препратено съобщение|proslijeđena poruka|posredovano sporočilo|iletilen (?:mesaj|ileti)|הודעה שהועברה|"
    r"edasisaadetud kiri|persiųstas laiškas|thư đã chuyển tiếp|ข้อความที่ส่งต่อ|pesan yang diteruskan|välitetty viesti|"
    r"전달된 (?:메시지|메일))\b[^\n]{0,80}",
    re.IGNORECASE,
)
_SEPARATOR = re.compile(r"[-_*= \t]{5,}[^\n]{0,60}?[-_*= \t]{3,}|_{5,}|-{5,}")
_FOOTER = re.compile(
    r"-- ?$|_{5,}$|(?:sent from|get outlook|gesendet von|von meinem|envoyé de|enviado desde|enviado do|inviato da|"
    r"verstuurd vanaf|verzonden vanaf|skickat från|sendt fra|wysłano z|отправлено с|発信元|나의)\b",
    re.IGNORECASE,
)
_ANNOUNCED = re.compile(
    r"\b(?:answers?|comments?|repl(?:y|ies)|responses?)\b[^.!?\n]{0,40}\b(?:below|inline|in-line|"
    r"in (?:red|blue|green))\b|"
    r"\bsee (?:below|inline|in-line)\b|\bsiehe unten\b|\bvoir ci-dessous\b|\bzie (?:hier)?onder\b|"
    r"\bvedi sotto\b|\bver abajo\b|"
    r"\b(?:antwort\w*|kommentare?|anmerkung\w*)\b[^.!?\n]{0,40}\b(?:unten|inline|im text|in (?:rot|blau|grün))\b|"
    r"\b(?:réponses?|commentaires?)\b[^.!?\n]{0,40}(?:ci-dessous|dans le texte|\brouge|\bbleu|\bvert\b)|"
    r"\b(?:respuestas?|comentarios?|respondo)\b[^.!?\n]{0,40}\b(?:abajo|a continuación|rojo|azul|entre líneas)\b|"
    r"\b(?:rispost[ae]|commenti|rispondo)\b[^.!?\n]{0,40}\b(?:sotto|di seguito|rosso|blu)\b|"
    r"\b(?:respostas?|comentários?)\b[^.!?\n]{0,40}\b(?:abaixo|vermelho|azul)\b|"
    r"\b(?:antwoord\w*|opmerkingen)\b[^.!?\n]{0,40}\b(?:onder|hieronder|rood|blauw)\b|"
    r"(?:见|以下|下面|下文|下記|以下に|아래)[^。\n]{0,12}(?:回复|答复|批注|回答|返信|답)|见下",
    re.IGNORECASE,
)
"""Words that say that answers stand between quoted lines."""
_MOST_DEEP = 20


@dataclass(frozen=True, slots=True)
class Said:
    """Words of one writer; the sender's have no author and no time of their own.

    Attributes:
        is_unsure: Whether the sender's answers may stand in them, so that they are given to nobody.
    """

    text: str
    author: str | None = None
    time: datetime | None = None
    is_unsure: bool = False


@dataclass(frozen=True, slots=True)
class _Break:
    """Where the words of another mail begin.

    Attributes:
        start: The line that introduces them.
        body: The first line of them.
    """

    start: int
    body: int
    is_forward: bool
    author: str | None = None
    time: datetime | None = None


def writers_of(text: str, letter: Letter) -> tuple[str, list[Said]]:
    """Return the sender's own words, and those of others that are forwarded or stand alone."""
    lines = ("\n" + text.replace("\r\n", "\n")).replace("\n>From ", "\nFrom ").split("\n")
    own, *others = _parted(lines, letter, 0)
    return own.text, [replace(one, author=one.author or UNKNOWN) for one in others if one.text]


def _parted(lines: Sequence[str], letter: Letter, depth: int) -> Iterator[Said]:
    found = _break(lines, letter) if depth < _MOST_DEEP else None
    if found is None:
        yield from _unannounced(lines, letter) if letter.is_reply and not depth else [Said(_own(lines, letter))]
        return
    own = _own(lines[: found.start], letter)
    rest = _unmarked(lines[found.body :]) if found.is_forward else lines[found.body :]
    answered = None if found.is_forward else _answered(lines, found, letter)
    if answered is not None:
        yield Said(f"{own}\n\n{answered}".strip())
        return
    yield Said(own)
    quoted = () if found.is_forward else _first_level(rest, letter)
    if _is_unsure(own, quoted, letter):
        yield Said(_tidied([*lines[found.start : found.body], *quoted]), UNKNOWN, is_unsure=True)
        return
    if found.is_forward or not own:
        first, *others = _parted(rest, replace(letter, is_forward=True), depth + 1)
        yield Said(first.text, found.author, found.time)
        yield from others


def _unannounced(lines: Sequence[str], letter: Letter) -> Iterator[Said]:
    """Yield the words of an answer that may quote without any mark, nor a sentence above the quotation."""
    compared_lines = compared(lines, letter.answered, starts_quoted=False) if letter.answered else None
    if compared_lines is not None and not any(line.startswith(">") for line in lines):
        yield Said(_own(["", *compared_lines], letter))
    elif not letter.answered and is_letter_to_sender(lines, letter) and may_have_answers(lines, ""):
        yield Said("")
        yield Said(_tidied(lines), UNKNOWN, is_unsure=True)
    else:
        yield Said(_own(lines, letter))


def _break(lines: Sequence[str], letter: Letter) -> _Break | None:
    for number, line in enumerate(lines):
        if _FORWARDED.fullmatch(_DIRECTION.sub("", line).strip(" \t>")):
            found = _fields(lines, number + 1, quoted=True)
            if found is not None:
                return _of_fields(number, found, is_forward=True)
            below = _attribution_below(lines, number)
            if below is not None:
                return below
        if ":" not in line and "：" not in line:
            continue
        found = _fields(lines, number, quoted=letter.is_forward)
        if found is not None and next(iter(found[1])) == "from":
            start = _above(lines, number)
            if _is_head(found[1], letter, has_separator=start < number):
                return _of_fields(start, found, is_forward=letter.is_forward or not letter.is_reply)
        if is_attribution(lines, number):
            sentence, is_marked = attribution(lines, number), _next_is_quoted(lines, number)
            is_handed_on = letter.is_forward and not _is_answered(lines, number + 1)
            if is_handed_on if is_marked else is_certain(sentence, letter):
                start = first_of_attribution(lines, number)
                return _Break(start, number + 1, letter.is_forward, *writer_of(sentence))
    return None


def _attribution_below(lines: Sequence[str], at: int) -> _Break | None:
    """Return the sentence of a date and a writer that Yandex puts below the line of a forward."""
    body = next((number for number in range(at + 1, len(lines)) if lines[number].strip()), at)
    for number in range(body, min(body + 3, len(lines))):
        sentence = " ".join(one.strip() for one in lines[body : number + 1])
        if number > at and is_attribution(lines, number) and "@" in sentence:
            return _Break(at, number + 1, True, *writer_of(sentence))
    return None


def _is_head(fields: dict[str, str], letter: Letter, *, has_separator: bool) -> bool:
    """Return whether fields are the head of a mail, and not those of a journey, for example."""
    is_whole = "date" in fields and bool(fields.keys() & {"to", "subject"})
    if "@" in fields["from"]:
        return letter.is_forward or is_whole
    if not is_whole or not fields["from"] or not is_time(fields["date"]):
        return False
    return has_separator or ((letter.is_forward or letter.is_reply) and list(fields)[1] == "date")


def _fields(lines: Sequence[str], at: int, *, quoted: bool) -> tuple[int, dict[str, str]] | None:
    """Return the end and the fields of the head of a mail that begins at a line; None if there is none."""
    while at < len(lines) and not lines[at].strip(" \t>" if quoted else None):
        at += 1
    found: dict[str, str] = {}
    end = min(len(lines), at + _MOST_HEAD_LINES)
    while at < end:
        line = _DIRECTION.sub("", lines[at].lstrip("> ") if quoted else lines[at])
        match = _FIELD.match(line)
        field = _field(match[1]) if match else None
        if match is None or field is None:
            if not found or not line.startswith((" ", "\t")) or not line.strip():
                break
        elif field not in found:
            found[field] = match[2].strip(" *\u00a0")
        at += 1
    is_head = "@" in found.get("from", "") or {"from", "date", "subject"} <= found.keys()
    return (at, found) if is_head and len(found) >= _LEAST_FIELDS - ("date" in found) else None


def _field(name: str) -> str | None:
    name = "".join(name.lower().split()).rstrip(".")
    return _FIELDS.get(name) or _FIELDS.get(re.sub(r"(?<=enviad[oa])(?:el|em|en)$", "", name))


def _of_fields(start: int, found: tuple[int, dict[str, str]], *, is_forward: bool) -> _Break:
    end, fields = found
    stated = fields["from"].replace("[mailto:", "<").replace("]", ">")
    name, address = parseaddr(stated) if "@" in stated else (stated, "")
    author = name or address or stated
    return _Break(start, end, is_forward, author.strip(" '\"") or None, time_of(fields.get("date", "")))


def _above(lines: Sequence[str], at: int) -> int:
    """Return the line of the separator above a head, such as ``----- Original Message -----``."""
    above = at
    while above and not lines[above - 1].strip():
        above -= 1
    return above - 1 if above and _SEPARATOR.fullmatch(lines[above - 1].strip()) else at


def _next_is_quoted(lines: Sequence[str], at: int) -> bool:
    following = (lines[number] for number in range(at + 1, len(lines)) if lines[number].strip())
    return next(following, ">").startswith(">")


def _is_answered(lines: Sequence[str], start: int = 0) -> bool:
    """Return whether a quotation begins with marked lines and has answers between them."""
    words = (lines[number] for number in range(start, len(lines)) if lines[number].strip())
    if not next(words, "").startswith(">"):
        return False
    unmarked = next((line for line in words if not line.startswith(">")), None)
    return unmarked is not None and not _FOOTER.match(unmarked.strip())


def _answered(lines: Sequence[str], found: _Break, letter: Letter) -> str | None:
    """Return a quotation that has answers in it; None for one without.

    Answers stand between marked lines, or begin with the sender's name, or are not in the mail that is answered.
    """
    rest = lines[found.body :]
    if _is_answered(rest):
        return _own(rest, letter)
    names = [letter.sender, *letter.sender.split()[:1], "".join(one[0] for one in letter.sender.split())]
    either = "|".join(re.escape(one) for one in names if len(one) > 1)
    mark = re.compile(rf"[ \t]*(?:\[(?:{either})\]|\*?(?:{either})\*?[:：>])[ \t]*\S", re.IGNORECASE)
    if either and any(mark.match(line) for line in rest):
        return _tidied(_with_marks(rest, mark))
    compared_lines = compared(_first_level(rest, letter), letter.answered) if letter.answered else None
    if compared_lines is None:
        return None
    text = _own(["", *compared_lines], replace(letter, is_reply=True))
    return text if _is_answered(compared_lines) else None


def _first_level(rest: Sequence[str], letter: Letter) -> Sequence[str]:
    """Return the lines of a quotation up to the mail that is quoted in it."""
    inner = _break(rest, letter)
    return rest if inner is None else rest[: inner.start]


def _is_unsure(own: str, rest: Sequence[str], letter: Letter) -> bool:
    """Return whether answers of the sender may stand in a quotation without marks, which nothing tells."""
    if not rest or (letter.answered and compared(rest, letter.answered) is not None):
        return False
    is_bare = letter.is_reply and not letter.answered and not own and sum(bool(line.strip()) for line in rest) > 1
    return is_bare or bool(_ANNOUNCED.search(own)) or may_have_answers(rest, own)


def _with_marks(lines: Sequence[str], answer: re.Pattern[str]) -> list[str]:
    """Mark the lines of a quotation, except paragraphs that begin as an answer."""
    marked: list[str] = []
    is_answer = False
    for line in lines:
        is_answer = bool(answer.match(line)) or (is_answer and bool(line.strip()))
        marked.append(line if is_answer or not line.strip() else f"> {line}")
    return marked


def _own(lines: Sequence[str], letter: Letter) -> str:
    """Return words without trailing quotations; a quotation with an answer stays, and a quotation without other words.

    Quotations in forwarded words stay, and so do those that the sender of a mail that answers none introduces.
    """
    if letter.is_forward:
        return _tidied(lines)
    blocks: list[tuple[bool, list[str]]] = []
    is_kept = False
    for line in lines:
        is_quoted = line.startswith(">") or (bool(blocks) and blocks[-1][0] and not line.strip())
        if not blocks or blocks[-1][0] != is_quoted:
            if is_quoted and blocks:
                is_kept = is_kept or (not letter.is_reply and _is_introduced(blocks[-1][1]))
                blocks.append((True, _taken_attribution(blocks[-1][1])))
            else:
                blocks.append((is_quoted, []))
        blocks[-1][1].append(line)
    if is_kept:
        return _tidied(lines)
    last = max((number for number, block in enumerate(blocks) if _has_words(*block)), default=len(blocks) - 1)
    text = "\n".join(line for _, block in blocks[: last + 1] for line in block)
    return _tidied(text.split("\n"))


def _tidied(lines: Sequence[str]) -> str:
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def _is_introduced(above: Sequence[str]) -> bool:
    """Return whether words end with a colon, and not with the sentence that mail programs write."""
    at = max((number for number, line in enumerate(above) if line.strip()), default=-1)
    if at < 0 or not above[at].strip().endswith((":", "：")):
        return False
    return not is_attribution(above, at) or not is_dated(attribution(above, at))


def _taken_attribution(above: list[str]) -> list[str]:
    """Take the sentence above a quotation from the words before it."""
    at = len(above)
    while at and not above[at - 1].strip():
        at -= 1
    if not at or not is_attribution(above, at - 1):
        return []
    first = first_of_attribution(above, at - 1)
    taken = above[first:]
    del above[first:]
    return taken


def _has_words(is_quoted: bool, block: list[str]) -> bool:
    first = next((line.strip() for line in block if line.strip()), "")
    return not is_quoted and bool(first) and not _FOOTER.match(first)


def _unmarked(lines: Sequence[str]) -> Sequence[str]:
    """Return forwarded lines without the mark of quotations, if all have it, a signature apart."""
    first = next((line for line in lines if line.strip()), "")
    if first.startswith(">") and not _is_answered(lines):
        return [line[1:].removeprefix(" ") if line.startswith(">") else line for line in lines]
    return lines
