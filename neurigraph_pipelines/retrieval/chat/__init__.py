"""Chats: questions that are answered with several searches, and that are remembered as conversations."""
