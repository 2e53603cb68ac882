"""``python -m tests.support.terminal_picture``: the moving picture of the README, twenty seconds of a terminal.

The commands are real ones, in an installation of their own with sample conversations. A person looks at the picture.
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

from tests.conftest import ROOT

FILE = ROOT / "docs" / "pictures" / "terminal.svg"
SCENES = (
    ("neurigraph import samples/bob.jsonl --user bob", "neurigraph ingest"),
    ('neurigraph ask "Which painkiller gives me a rash?"',),
    ('neurigraph fact why "Why does Dave want bending in the morning?"',),
    ('neurigraph context "Which painkiller can I take?" --budget 150',),
)
_SECONDS = 5
_COLUMNS, _LINES = 96, 12

# Rich's own form names fonts on the web; this one has those of the reader.
_SCENE = """<svg class="scene" style="animation-delay:{delay}s" viewBox="0 0 {{width}} {{height}}"><style>
.{{unique_id}}-matrix {{{{ font: {{char_height}}px monospace; line-height: {{line_height}}px }}}}
{{styles}}</style><defs>{{lines}}</defs><rect fill="#292929" width="100%" height="100%" rx="8"/>
<g transform="translate({{terminal_x}}, 30)">{{backgrounds}}<g class="{{unique_id}}-matrix">{{matrix}}</g></g></svg>
"""
_PICTURE = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img">
<title>{title}</title><style>
.scene {{ opacity: 0; animation: shown {seconds}s infinite }}
@keyframes shown {{ 0%, {share}% {{ opacity: 1 }} {after}%, 100% {{ opacity: 0 }} }}
@media (prefers-reduced-motion) {{ .scene {{ animation: none }} .scene:last-child {{ opacity: 1 }} }}
</style>
{scenes}</svg>
"""


def main() -> None:
    """Run the commands, and write the picture."""
    with tempfile.TemporaryDirectory() as home:
        FILE.write_text(picture_of([[(one, run(one, Path(home))) for one in scene] for scene in SCENES]), "utf-8")
    print(f"{FILE}: {FILE.stat().st_size:,} bytes")


def run(command: str, home: Path) -> str:
    """Run a command as the README's reader does, and return the lines that it leaves on a terminal."""
    environment = {"NEURIGRAPH_HOME": str(home), "COLUMNS": str(_COLUMNS), "FORCE_COLOR": "1"}
    program = f"{Path(sys.executable).parent}{os.sep}{command}"
    done = subprocess.run(program, shell=True, cwd=ROOT, env=os.environ | environment, capture_output=True, check=True)
    lines = [line for line in (done.stderr + done.stdout).decode().splitlines() if not is_progress(line)]
    return "\n".join(lines)


def is_progress(line: str) -> bool:
    """Return whether a line belongs to a bar that goes away."""
    return "━" in line or not Text.from_ansi(line).plain.strip()


def picture_of(scenes: list[list[tuple[str, str]]]) -> str:
    """Return a picture that shows scenes one after the other, each with its commands and what they print."""
    drawn = []
    for number, scene in enumerate(scenes):
        console = Console(record=True, width=_COLUMNS, file=io.StringIO(), force_terminal=True)
        for command, printed in scene:
            console.print(Text("$ ", "green") + Text(command, "bold"), Text.from_ansi(printed), sep="\n")
        used = len(console.export_text(clear=False).splitlines())
        assert used <= _LINES, f"scene {number} has {used} lines"
        console.print("\n" * (_LINES - used))
        form = _SCENE.format(delay=number * _SECONDS)
        drawn.append(console.export_svg(code_format=form, unique_id=f"scene{number}"))
    box = drawn[0].partition('viewBox="0 0 ')[2].partition('"')[0].split()
    share = 100 / len(scenes)
    return _PICTURE.format(
        width=box[0],
        height=box[1],
        title="Conversations are imported; a question, a reason and a block for a prompt follow",
        seconds=_SECONDS * len(scenes),
        share=share - 1,
        after=share,
        scenes="".join(drawn),
    )


if __name__ == "__main__":
    main()
