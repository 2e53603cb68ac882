"""Mails that nobody wants remembered: spam, deleted ones, and notices that programs send on their own."""

from __future__ import annotations

from email.message import Message

from neurigraph_pipelines.inbox.imports.mail_bodies import FAULTS, header
from neurigraph_pipelines.model.errors import UnreadableFileError

_SPAM = set(
    "spam junk junk-e-mail junkmail skräppost søppelpost roskaposti спам 迷惑メール "
    "스팸 스팸함 垃圾邮件 垃圾郵件 "
    "pourriel ongewenst ungewollt istenmeyen".split()
)
_TRASH = set(
    "trash bin papierkorb papelera corbeille cestino prullenbak lixeira lixo kosz papperskorgen papirkurv roskakori "
    "koš корзина кошик "
    "ゴミ箱 휴지통 已删除邮件 已刪除郵件 垃圾桶 回收站 已删除 çöp".split()
)
_TRASH |= {"deleted items", "gelöschte elemente", "gelöscht", "éléments supprimés", "çöp kutusu", "correo no deseado"}
_REPORTS = ("delivery-status", "disposition-notification", "feedback-report")
_DAEMON = "mailer-daemon@"
_DELETED = 0x0008
"""The bit of ``X-Mozilla-Status`` of a mail that was deleted and is still in the file."""

IN_SPAM, IN_TRASH, NOTICES = (
    "e-mails in Spam, left out",
    "e-mails in the Trash, left out",
    "delivery reports and automatic replies, left out",
)


def why_left_out(head: Message) -> str | None:
    """Return the reason to leave out a mail, unless everything is asked for; None if the mail is kept."""
    try:
        labels = {" ".join(one.split()).strip('" ').casefold() for one in header(head, "X-Gmail-Labels").split(",")}
        if labels & _SPAM or header(head, "X-Spam-Flag").strip().upper() == "YES":
            return IN_SPAM
        if labels & _TRASH or _is_deleted(header(head, "X-Mozilla-Status")):
            return IN_TRASH
        return NOTICES if _is_notice(head) else None
    except UnreadableFileError:  # a header in an unknown encoding is none of these
        return None


def _is_deleted(status: str) -> bool:
    try:
        return bool(int(status, 16) & _DELETED) if status.strip() else False
    except ValueError:
        return False


def _is_notice(head: Message) -> bool:
    kind = header(head, "Content-Type").lower()
    if "multipart/report" in kind and any(one in kind for one in _REPORTS):
        return True
    try:
        is_failure = head["X-Failed-Recipients"] is not None
    except FAULTS:
        is_failure = False
    automatic = header(head, "Auto-Submitted").strip().lower().startswith(("auto-replied", "auto-notified"))
    answered = header(head, "Precedence").strip().lower() == "auto_reply" or bool(header(head, "X-Autoreply").strip())
    sender = header(head, "From").lower()
    return is_failure or automatic or answered or _DAEMON in sender
