"""What WhatsApp itself writes in place of a file, of a deleted message or as a notice, in the languages of the app."""

from __future__ import annotations

import re

MARK = "\u200e"
"""WhatsApp puts this invisible mark before what it writes itself, except in some exports of Android phones."""

_MEDIA = (
    r"media|medien|multimedia|m[ií]dias?|médias?|archivo|ficheiro|fichier|arquivo|メディア|多媒[体體]|媒[体體]|미디어|"
    r"медиа\w*|medya|ملف|וסائط|मीडिया|view once"
)
_OMITTED = (
    r"omitted|omiss?|omess[oia]|omitid[oa]s?|omitió|weggelaten|ausgeschlossen|weggelassen|ocult[oa]s?|não revelad[oa]|"
    r"含まれて|なし|省略|略去|未包含|제외|생략|без|пропущен\w*|pominięto|utelämn\w*|utelatt|udeladt|dahil edilmedi"
)
_OMISSION = re.compile(
    rf"[<‹〈＜](?=.{{0,40}}(?:{_MEDIA}))(?=.{{0,40}}(?:{_OMITTED}))[^<>‹›〈〉＜＞]{{3,50}}[>›〉＞]|null",
    re.IGNORECASE,
)
_IS_ATTACHED = (
    r"file attached|datei angehängt|archivo adjunto|fichier joint|(?:file|documento) allegato|bestand bijgevoegd|"
    r"(?:arquivo|ficheiro) anexad[oa]|添付ファイル|ファイル添付|"
    r"文件附件|附件|檔案已附加|已附加檔案|파일 첨부됨|첨부파일|"
    r"файл добавлен|plik załączony|dosya ekli|fil bifogad|fil vedhæftet"
)
_ATTACHED_AS = r"attached|anhang|adjunto|pièce jointe|allegato|bijgevoegd|anexado|添付ファイル|附件|已附加|첨부"
ATTACHED = re.compile(
    rf"{MARK}<[^<>:]{{1,40}}: (?P<named>[^<>]{{1,200}})>|<(?:{_ATTACHED_AS}): (?P<also>[^<>]{{1,200}})>"
    rf"|{MARK}(?P<file>\S.{{0,198}}\.\w{{2,5}}) \(.{{3,40}}\)"
    rf"|(?P<plain>\S.{{0,198}}\.\w{{2,5}}) \((?:{_IS_ATTACHED})\)(?=\n|$)"
    rf"|(?P<listed>\S.{{0,198}}\.\w{{2,5}})(?: • .{{1,20}}?)? {MARK}.{{3,40}}$",
    re.IGNORECASE,
)
"""What stands for an attached file; its name is the one group that is set."""

_DELETED = re.compile(
    r"(?:this message was deleted|you deleted this message|diese nachricht wurde gelöscht|"
    r"du hast diese nachricht gelöscht|se eliminó este mensaje|(?:este mensaje fue eliminado|eliminaste este mensaje)|"
    r"ce message a été supprimé|vous avez supprimé ce message|questo messaggio è stato eliminato|"
    r"hai eliminato questo messaggio|dit bericht (?:is|werd) verwijderd|(?:je|u) (?:hebt|heeft) dit bericht verwijderd|"
    r"(?:esta )?mensagem (?:foi )?apagada|(?:você )?apagou esta mensagem|esta mensagem foi eliminada|"
    r"此[消訊][息]已[被]?[删刪]除|[您你]已?[删刪]除了?此[消訊]息|[這这][則条]訊息已刪除|已刪除此訊息|"
    r"このメッセージ(?:は削除されました|を削除しました)|"
    r"メッセージが削除されました|삭제된 메시지입니다|이 메시지를 삭제했습니다|"
    r"(?:данное|это) сообщение удалено|вы удалили (?:данное|это) сообщение|ta wiadomość została usunięta|"
    r"bu mesaj silindi|det här meddelandet (?:raderades|togs bort))[.。]?",
    re.IGNORECASE,
)


_TELEPHONE = re.compile(rf"{MARK}[\u202a-\u202e\u2066-\u2069]?\+?\d[\d\s().-]{{5,}}")
_OF_NUMBERS = re.compile(
    r"left|joined|added|removed|changed|created|admin|security|hinzugef|verlassen|beigetreten|entfernt|geändert|gewechselt"
    r"|erstellt|salió|añad|agreg|elimin|cambi|creó|unió|quitté|ajout|rejoint|supprim|retir|chang|modifi|créé|abbandon"
    r"|aggiun|rimoss|entrat|unit|verlaten|toegevoegd|verwijderd|gewijzigd|gemaakt|saiu|adicion|entrou|remov|mudou|alter"
    r"|criou|加入|退出|[离離]開?|添加|新增|移除|更改|[变變]更|[创創創]建|参加|退|追加|削除|作成|들어|나갔|추가|내보|변경|만들"
    r"|добав|вступ|вышел|вышла|покин|удал|измен|создал",
    re.IGNORECASE,
)
"""What a notice says of somebody who is named by a number."""

_LONGEST_START = 30


def is_omission(words: str) -> bool:
    """Return whether a message is only what stands for a file that was left out."""
    return bool(_OMISSION.fullmatch(words.replace(MARK, "")))


def is_deleted(words: str) -> bool:
    """Return whether a message is only what stands for a deleted one."""
    return bool(_DELETED.fullmatch(words.replace(MARK, "").strip()))


def is_notice(words: str) -> bool:
    """Return whether the app wrote a message: one line behind its mark, without an address such as that of a place.

    Phones put the mark before a number of a telephone as well, and then the words after the number decide.
    """
    if not words.startswith(MARK) or "\n" in words or "://" in words:
        return False
    number = _TELEPHONE.match(words)
    return number is None or bool(_OF_NUMBERS.search(words[number.end() :][:_LONGEST_START]))
