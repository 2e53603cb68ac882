"""The words of WhatsApp itself in place of files and deleted messages, and its notices, in the languages of the app."""

from __future__ import annotations

import re

MARK = "\u200e"
"""WhatsApp puts this invisible mark before what it writes itself, except in some exports of Android phones."""

_MEDIA = (
    r"media|medien|multimedia|m[ií]dias?|médias?|archivo|ficheiro|fichier|arquivo|メディア|多媒[体體]|媒[体體]|미디어|"
    r"медиа\w*|medya|ملف|وسائط|الوسائط|מדיה|πολυμέσ\w*|αρχείο|رسانه|phương tiện|đa phương tiện|สื่อ|मीडिया|view once"
)
_OMITTED = (
    r"omitted|omiss?|omess[oia]|omitid[oa]s?|omitió|weggelaten|ausgeschlossen|weggelassen|ocult[oa]s?|não revelad[oa]|"
    r"含まれて|なし|省略|略去|未包含|제외|생략|без|пропущен\w*|pominięto|utelämn\w*|utelatt|udeladt|dahil edilmedi|"
    r"محذوف\w*|הושמט\w*|לא כלול\w*|παραλ[εή]ί?φθηκ\w*|حذف شد\w*|пропуснат\w*|bị bỏ qua|bỏ qua|ถูกละเว้น|छोड़\w*|हटाया"
)
_OMISSION = re.compile(
    rf"[<‹〈＜](?=.{{0,40}}(?:{_MEDIA}))(?=.{{0,40}}(?:{_OMITTED}))[^<>‹›〈〉＜＞]{{3,50}}[>›〉＞]|null",
    re.IGNORECASE,
)
_FILES = (
    rf"{_MEDIA}|image|photo|vid[eé]o|audio|sticker|gif|document|contact card|voice message|bild|foto|dokument|"
    r"visitenkarte|imagen|vídeo|documento|tarjeta|immagine|documento|scheda|afbeelding|contactkaart|imagem|figurinha|cartão|"
    r"fichier|图[像片]|圖片|视频|影片|音频|音訊|贴图|貼圖|文件|檔案|画像|動画|音声|スタンプ|ドキュメント|이미지|사진|동영상|오디오|스티커|문서|"
    r"изображение|видео|аудио|стикер|документ|görüntü|ses|çıkartma|belge|صورة|فيديو|صوت|ملصق|مستند|תמונה|וידאו|סרטון|"
    r"שמע|מדבקה|מסמך|εικόνα|βίντεο|ήχος|تصویر|ویدیو|изображението|hình ảnh|âm thanh|nhãn dán|"
    r"รูปภาพ|วิดีโอ|चित्र|वीडियो|ऑडियो"
)
_OMITTED_FILE = re.compile(
    rf"(?=.{{0,40}}(?:{_FILES}))(?=.{{0,40}}(?:{_OMITTED}|absente?|忽略|отсутств\w*|"
    r"تم حذف|محذوف\w*|غير مضمّن\w*|הושמט\w*|παραλείφθηκε|παραλήφθηκε|حذف شد\w*|пропуснат\w*|bị bỏ qua|ถูกละเว้น|छोड़)).+",
    re.IGNORECASE,
)
"""What iPhones write for a file that was left out, behind the mark and without brackets."""

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
    r"(?:تم حذف هذه الرسالة|حذفت هذه الرسالة|لقد حذفت هذه الرسالة)|(?:הודעה זו נמחקה|מחקת הודעה זו|את/ה מחקת הודעה זו)|"
    r"(?:αυτό το μήνυμα διαγράφηκε|διαγράψατε αυτό το μήνυμα)|(?:این پیام حذف شد|شما این پیام را حذف کردید)|"
    r"(?:това съобщение беше изтрито|изтрихте това съобщение)|(?:tin nhắn này đã bị xóa|bạn đã xóa tin nhắn này)|"
    r"(?:ข้อความนี้ถูกลบแล้ว|คุณลบข้อความนี้แล้ว)|"
    r"(?:यह मैसेज (?:डिलीट|मिटा दिया) (?:किया )?गया(?: है)?|आपने यह मैसेज (?:डिलीट|मिटा) (?:किया|दिया))|"
    r"bu mesaj silindi|det här meddelandet (?:raderades|togs bort))[.。]?",
    re.IGNORECASE,
)


_LONGEST_OMISSION = 60


def is_omission(words: str) -> bool:
    """Return whether a message only marks a file that was left out."""
    text = words.replace(MARK, "").strip()
    is_marked = words.startswith(MARK) and "\n" not in text and len(text) <= _LONGEST_OMISSION
    return bool(_OMISSION.fullmatch(text) or (is_marked and _OMITTED_FILE.fullmatch(text)))


def is_deleted(words: str) -> bool:
    """Return whether a message only marks a deleted message."""
    return bool(_DELETED.fullmatch(words.replace(MARK, "").strip()))
