"""A made vault of Markdown notes."""

from __future__ import annotations

from pathlib import Path

NOTES = {
    "Garden.md": "The garden lies behind [[House]]. See [the pond](Garden/Pond.md) and [[Missing note]].\n",
    "House.md": "---\ntitle: The old house\ntags: [building, '#home']\naliases: [Villa Kumquat]\ndate: 2024-05-20\n"
    "---\nIt was built by [[People/Ann|Ann]]. ![[plan.png]] [[House#Cellar]] [[#Attic]]\n",
    "Garden/Pond.md": "Frogs live here. Back to [the garden](../Garden.md#top), not [out](../../etc/passwd.md).\n",
    "Garden/Roses.md": "```\n[[House]]\n```\nPruned in March, with `[[House]]` in code, after [[pond]].\n",
    "People/Ann.md": "Ann is an architect. ![[Ben]]\n",
    "People/Ben.md": "Ben plants [[Roses|his roses]] and roses. [Site](https://example.org/x.md)\n",
    "Deep/A/B/C/Well.md": "The well feeds [[Pond]].\n",
    "Deep/A/B/D/Well.md": "Another well, near [[B/C/Well]].\n",
    "Empty.md": "\n",
    "Broken.md": "---\na: &a [x]\nb: *a\n---\nIts properties have a reference. [[Empty]]\n",
    "Script.md": "<script>alert(1)</script> '); DROP TABLE neurigraph.notes; -- [[<img src=x onerror=alert(1)>]]\n",
    "Plain.markdown": "Nothing is linked here.\n",
    ".trash/Gone.md": "A hidden folder.\n",
    ".hidden.md": "A hidden file.\n",
    "plan.png": "not a note",
}
"""The files of the vault: twelve notes, hidden ones, and a picture."""

EDGES = {
    ("Garden", "House"),
    ("Garden", "Garden/Pond"),
    ("House", "People/Ann"),
    ("Garden/Pond", "Garden"),
    ("Garden/Roses", "Garden/Pond"),
    ("People/Ann", "People/Ben"),
    ("People/Ben", "Garden/Roses"),
    ("Deep/A/B › C/Well", "Garden/Pond"),
    ("Deep/A/B › D/Well", "Deep/A/B › C/Well"),
    ("Broken", "Empty"),
}
"""The edges that follow, by the paths of their nodes below that of the vault."""


def write_vault(folder: Path) -> Path:
    """Write the vault to a new folder, and return that."""
    (folder / ".obsidian").mkdir(parents=True)
    for name, text in NOTES.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    (folder / "Outside.md").symlink_to("/etc/passwd")
    return folder


OBSERVED_NOTES = {
    "coffee/brewing.md": "---\ntitle: Coffee Brewing\ntype: note\ntags: [coffee]\npermalink: coffee/coffee-brewing\n"
    "created: 2025-03-04\nrated: 9\nreviewed: 2025-05-01\nsure: true\nschema: {method: string}\n---\n"
    "# Coffee Brewing\n\n"
    "- [method] Pour over at 95 °C #water (by taste)\n- [ ] buy filters #x\n- [site](a.html) #sharp\n"
    "- relates_to [[Bean Origins]]\n- requires [[proper grinding]] (always)\n- contrasts_with [[Tea]]\n"
    "- `- hides [[grinder]]`\n\nSee [[Bean Origins]] and [[grinder]].\n",
    "coffee/beans.md": "---\ntitle: Bean Origins\n---\n- part_of [[Coffee Brewing]]\n",
    "coffee/grinding.md": "---\ntitle: Proper Grinding\n---\nFine for espresso.\n",
    "grinder.md": "A note without properties.\n",
}
"""Notes as Basic Memory writes them: called by their titles, with observations and relations."""


def write_observed_notes(folder: Path) -> None:
    """Write the notes of Basic Memory to a new folder."""
    for name, text in OBSERVED_NOTES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
