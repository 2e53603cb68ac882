"""Notices that WhatsApp itself writes into a chat, in the languages of the app.

A mark before a line is not enough: phones put it before words of people as well. ``app_words`` knows what stands for
files and deleted messages.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from neurigraph_pipelines.inbox.imports.app_words import MARK
from neurigraph_pipelines.inbox.imports.phone_stamps import INVISIBLE

_DONE = re.compile(
    r"\bleft\b|joined|added|removed|changed|created|admin|pinned|started|security|hinzugef|verlassen|beigetreten|entfernt"
    r"|geändert|gewechselt|erstellt|angepinnt|salió|añad|agreg|elimin|cambi|creó|creaste|unió|fijó|quitté|ajout|rejoint"
    r"|supprim|retir|chang|modifi|créé|épingl|abbandon|aggiun|rimoss|entrat|unit|fissat|verlaten|toegevoegd|verwijderd"
    r"|gewijzigd|gemaakt|vastgezet|saiu|adicion|entrou|remov|mudou|alter|criou|fixou|加入|退出|[离離]開?|添加|新增|移除"
    r"|更改|[变變]更|[创創創]建|置[顶頂]|参加|退|追加|削除|作成|들어|나갔|추가|내보|변경|만들|добав|вступ|вышел|вышла|покин"
    r"|удал|измен|создал|غادر|انضم|أضاف|أضيف|أزال|غيّر|أنشأ|עזב|הצטרפ|הוסיפ|הוסיף|הסיר|שינה|יצר|αποχώρησε|πρόσθεσε"
    r"|άλλαξε|δημιούργησε|ترک کرد|اضافه کرد|تغییر داد|напусна|добави|промени|създаде|đã rời|đã thêm|đã thay đổi|đã tạo"
    r"|ออกจาก|เพิ่ม|เปลี่ยน|สร้าง|छोड़|जोड़ा|बदल|बनाया",
    re.IGNORECASE,
)
"""What a notice says of somebody."""

_SENTENCES = re.compile(
    r"end-to-end|ende-zu-ende|extremo a extremo|bout en bout|crittografia|versleutel|de ponta a ponta|端到端|端對端|"
    r"エンドツーエンド|종단간|сквозн\w+ шифр|end-to-end şifreli|uçtan uca|التامة بين الطرفين|מקצה לקצה|διατερματικ|"
    r"сигурнос\w+ код|đầu cuối|ปลายทาง|एंड-टू-एंड|"
    r"missed (?:group )?(?:voice|video) call|(?:voice|video) call,|verpasster (?:sprach|video)|llamada perdida|"
    r"(?:appel|audio|vidéo) (?:vocal |vidéo )?manqué|chiamata (?:vocale |video )?persa|"
    r"gemiste? (?:spraak|video)?oproep|"
    r"chamada (?:de (?:voz|vídeo) )?perdida|不在着信|未接(?:语音|視訊|视频|語音)|부재중|пропущенный|cevapsız|"
    r"waiting for this message|warten auf diese nachricht|esperando este mensaje|en attente de ce message|"
    r"in attesa del messaggio|wachten op dit bericht|aguardando mensagem|"
    r"security code (?:with|changed)|disappearing messages|selbstlöschende nachrichten|mensajes temporales|"
    r"messages éphémères|messaggi effimeri|verdwijnende berichten|mensagens temporárias|消えるメッセージ|限时消息|"
    r"사라지는 메시지|tap to (?:learn|change)|you(?:'|’)re now an admin|this (?:business|chat) (?:uses|is with)|"
    r"created (?:this )?group|nachrichten und anrufe sind",
    re.IGNORECASE,
)
"""Parts of notices that say nothing of somebody."""

_YOU = r"you|du|ihr|tú|usted|vous|tu|hai|je|u|você|você foi|您|你|あなた|나|당신|вы|sen|siz|أنت|אתה|εσείς|شما"
_TELEPHONE = re.compile(rf"[{INVISIBLE}~]*\+?\d[\d\s().-]{{5,}}")
_LONGEST_START = 30
_LONGEST_NOTICE = 300


def is_notice(words: str, people: Collection[str], *, is_group: bool) -> bool:
    """Return whether the app wrote a message: one line behind its mark with the words of a notice.

    Args:
        words: The message, with its marks.
        people: The names of the chat.
        is_group: Whether every line of the author begins with the mark, as those of a group's name do.
    """
    if not words.startswith(MARK) or "\n" in words or "://" in words or len(words) > _LONGEST_NOTICE:
        return False
    text = re.sub(f"[{INVISIBLE}]", "", words).strip()
    if _SENTENCES.search(text) or (is_group and _DONE.search(text)):
        return True
    start = _TELEPHONE.match(text) or re.match(rf"(?:{_YOU})(?=[\W']|$)", text, re.IGNORECASE)
    text = text.lstrip("~ \u202f")
    end = start.end() if start else max((len(name) for name in people if text.startswith(name)), default=0)
    return end > 0 and bool(_DONE.search(text[end:][:_LONGEST_START]))
