"""Names of the formats of conversations that are read, in one place, for messages, the command line and the pages.

``imports.reader`` has the readers. Nothing is imported here, because the command line shows the names at once.
"""

from __future__ import annotations

EXPORT_FORMATS = {
    "chatgpt": "ChatGPT",
    "claude": "Claude",
    "locomo": "LoCoMo",
    "telegram": "Telegram",
    "deepseek": "DeepSeek",
    "gemini": "Gemini (Google Takeout)",
    "openai": "messages in OpenAI's form",
    "librechat": "LibreChat",
    "discord": "Discord (DiscordChatExporter)",
    "google-chat": "Google Chat",
    "messenger": "Messenger and Instagram",
    "mem0": "mem0",
    "supermemory": "Supermemory",
    "qmsum": "QMSum",
    "jsonl": "Neurigraph's JSON lines",
    "slack": "Slack",
    "whatsapp": "WhatsApp",
    "mail": "e-mail (.eml, .mbox)",
    "subtitles": "WebVTT and SubRip",
    "text": "dialogues in plain text",
}
"""Formats by the names that ``--format`` takes, with names for people."""

NAMES = ", ".join(EXPORT_FORMATS)

READ = f"Conversations are read of {', '.join(EXPORT_FORMATS.values())}"
"""A sentence without its end, for refusals."""
