"""The graph as a view in a chat (MCP Apps, SEP-1865): one HTML document, made from the files of the page.

A host shows it in a sandboxed frame without network. Nothing in it belongs to a user: the view asks the host to call
tools, with the rights of the agent. ``page/app`` has what only this view needs.
"""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from functools import cache
from importlib.resources import files

from mcp.server.apps import APP_MIME_TYPE
from mcp_types import Resource

_META = {
    "ui": {
        "csp": {"connectDomains": [], "resourceDomains": [], "frameDomains": [], "baseUriDomains": []},
        "prefersBorder": True,
    }
}
"""The view needs no origin at all."""

VIEW = Resource(
    uri="ui://neurigraph/graph",
    name="graph",
    title="The graph of the memory",
    description="A picture of a node and its neighbours; a click shows a node.",
    mime_type=APP_MIME_TYPE,
    _meta=_META,
)

_FOLDERS = ("app", "files", "vendored")
_START = "app.js"
_STYLES = ("base.css", "views.css", "app.css")
_POLICY = (
    "default-src 'none'; script-src '{script}'; style-src '{styles}'; base-uri 'none'; form-action 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
"""The host's policy must let inline scripts run. This one allows exactly the script and the styles of the document."""

_IMPORT = re.compile(r'^import \{ ([\w, ]+) \} from "\./([\w.-]+)";$', re.MULTILINE)
_LATER = re.compile(r'\bimport\("\./([\w.-]+)"\)')
_EXPORT = re.compile(r"^export ((?:async )?function|const|class) (\w+)", re.MULTILINE)
_EXPORTS = re.compile(r"export\{([\w$ ,]+)\};?(?=\s*(?:/\*![^*]*\*/\s*)?(?://#[^\n]*\s*)?\Z)")
_AS = re.compile(r"([\w$]+) as (\w+)")
_LEFT = re.compile(r"^\s*(?:import|export)\b|\bimport\(|</script|<!--", re.MULTILINE | re.IGNORECASE)


@cache
def document() -> str:
    """Return the document."""
    modules: dict[str, str] = {}
    _add(_START, modules)
    script = "\n".join(modules.values())
    styles = "\n".join(_text(name) for name in _STYLES)
    policy = _POLICY.format(script=_digest(script), styles=_digest(styles))
    parts = {"policy": policy, "styles": styles, "script": script}
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], _text("app.html"))


def _add(name: str, modules: dict[str, str]) -> None:
    """Add a module after the modules that it imports, wrapped in a function that returns its exports.

    Raises:
        ValueError: The module has something that cannot be put into one script.
    """
    text = _text(name)
    for imported in [found[2] for found in _IMPORT.finditer(text)] + _LATER.findall(text):
        if imported not in modules:
            _add(imported, modules)
    exported = [found[2] for found in _EXPORT.finditer(text)]
    text = _IMPORT.sub(lambda found: f'const {{ {found[1]} }} = MODULES["{found[2]}"];', text)
    text = _LATER.sub(lambda found: f'MODULES["{found[1]}"]', text)
    text = _EXPORT.sub(r"\1 \2", text)
    text = _EXPORTS.sub(lambda found: "return { " + _AS.sub(r"\2: \1", found[1]) + " };", text)
    if left := _LEFT.search(text):
        raise ValueError(f"{name}: {left[0].strip()!r} cannot stand in a script of one document")
    start = "const MODULES = {};\n" if not modules else ""
    modules[name] = f'{start}MODULES["{name}"] = (() => {{\n{text}\nreturn {{ {", ".join(exported)} }};\n}})();'


def _text(name: str) -> str:
    """Return the text of a file; that of a library has its licence before it."""
    package = files("neurigraph_pipelines.faces.page")
    ((folder, found),) = ((folder, path) for folder in _FOLDERS if (path := package.joinpath(folder, name)).is_file())
    text = found.read_text(encoding="utf-8")
    if folder == "vendored" and name.endswith(".js"):
        return f"/*\n{_text(name.partition('-')[0] + '-LICENSE.txt')}*/\n{text}"
    return text


def _digest(text: str) -> str:
    return "sha256-" + b64encode(hashlib.sha256(text.encode()).digest()).decode()
