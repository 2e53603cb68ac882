"""The page in a real browser: each view does what it is for, with the keyboard and the mouse."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from neurigraph_pipelines.knowledge.reading import read_waiting
from neurigraph_pipelines.wiring.installation import Installation
from tests.conftest import ROOT
from tests.support.browser import Browser, Page
from tests.support.memories import ingest
from tests.support.page_world import Words, World, make_world
from tests.support.uploads import store

WRONG = "ng_no_such_key_at_all_0123456789"


@pytest.fixture(scope="module")
def world(shared_installation: Installation, address: str) -> World:
    return make_world(shared_installation, address, Words("Dora", "She rows on Sundays."))


@pytest.fixture(scope="module")
def api(address: str, world: World) -> Iterator[httpx.Client]:
    headers = {"Authorization": f"Bearer {world.key}"}
    with httpx.Client(base_url=f"{address}/v1", headers=headers, timeout=30.0) as client:
        yield client


@pytest.fixture(scope="module")
def page(browser: Browser, address: str, world: World) -> Iterator[Page]:
    """A page with a signed-in owner, which nothing complained about at the end."""
    made = browser.page()
    sign_in(made, address, world.key)
    yield made
    assert made.complaints == []
    assert made.violations() == []
    assert [request for request in made.requests if not request.startswith((f"{address}/", "blob:", "data:"))] == []


def sign_in(page: Page, address: str, key: str) -> None:
    page.go(f"{address}/")
    page.fill("input[name=key]", key)
    page.press("Enter")
    page.wait_for("document.querySelector('.home .lately')")


def read(world: World) -> None:
    """Store what was handed in, and read it for facts."""
    ingest(world.people.context, world.people.user)
    read_waiting(world.people.context, user_id=world.people.user.user_id)


def show(page: Page, place: str) -> None:
    page.run(f"location.hash = '#/{place}'")


def test_key_stays_in_the_tab(browser: Browser, address: str, world: World) -> None:
    page = browser.page()
    page.go(f"{address}/")
    page.fill("input[name=key]", WRONG)
    page.press("Enter")
    page.wait_for_text("The server does not know this key")
    assert page.run("sessionStorage.length + localStorage.length") == 0
    page.run("document.querySelector('input').value = ''")
    page.fill("input[name=key]", world.key)
    page.press("Enter")
    page.wait_for("document.querySelector('.home .lately')")
    assert page.run("[sessionStorage.length, localStorage.length, document.cookie]") == [1, 0, ""]
    assert not [one for one in page.requests if world.key in one or WRONG in one]
    page.go(f"{address}/")
    page.wait_for("document.querySelector('.home .lately')")
    page.click("header button", "Sign out")
    page.wait_for("document.querySelector('input[name=key]')")
    assert page.run("sessionStorage.length") == 0


def test_password_opens_the_page(
    browser: Browser, address: str, world: World, api: httpx.Client, shared_installation: Installation
) -> None:
    slug = api.get("/account").json()["slug"]
    api.put("/account/password", json={"password": "correct horse battery"})
    page = browser.page()
    page.go(f"{address}/")
    page.run("[...document.querySelectorAll('button')].find((one) => one.textContent.includes('password')).click()")
    page.fill("input[name=user]", slug)
    page.fill("input[name=password]", "wrong")
    page.press("Enter")
    page.wait_for_text("The name or the password is wrong")
    page.run("document.querySelector('input[name=password]').value = ''")
    page.fill("input[name=password]", "correct horse battery")
    page.press("Enter")
    page.wait_for("document.querySelector('.home .lately')")
    key = page.run("sessionStorage.getItem('neurigraph.key')")
    headers = {"Authorization": f"Bearer {key}"}
    assert httpx.get(f"{address}/v1/tree", headers=headers, timeout=30.0).status_code == 200
    page.run("[...document.querySelectorAll('header button')].find((one) => one.textContent === 'Sign out').click()")
    page.wait_for("document.querySelector('input[name=key]')")
    assert httpx.get(f"{address}/v1/tree", headers=headers, timeout=30.0).status_code == 401
    assert page.run("[sessionStorage.length, localStorage.length, document.cookie]") == [0, 0, ""]


def test_tree_follows_the_keyboard(page: Page, world: World) -> None:
    show(page, "nodes")
    page.wait_for("document.querySelector('[role=treeitem][tabindex=\"0\"]')")
    page.wait_for("document.activeElement.tagName === 'MAIN'")
    page.run("document.querySelector('[role=treeitem][tabindex=\"0\"]').focus()")
    page.press("ArrowDown")
    assert page.run("document.activeElement.getAttribute('aria-label')") == "Harbour, sleeping, 2 memories"
    assert page.run("document.activeElement.getAttribute('aria-expanded')") == "false"
    page.press("ArrowRight")
    assert page.run("document.activeElement.getAttribute('aria-expanded')") == "true"
    page.press("ArrowRight")
    assert page.run("document.activeElement.getAttribute('aria-label')") == "Dora, 1 memory"
    page.press("ArrowLeft")
    page.press("Enter")
    page.wait_for(f"location.hash === '#/nodes/{world.node_id}'")
    page.wait_for_text("The keel Dora", "Also called", "Last opened")


def test_memory_goes_through_its_versions(page: Page, world: World) -> None:
    show(page, f"records/{world.record_id}")
    page.wait_for_text(
        "3 of 3", "Bolts for the keel, before April.", "Ana lives in Porto.", "I will remember the bolts"
    )
    page.run("document.getElementById('version').focus()")
    page.press("ArrowLeft")
    page.wait_for_text("2 of 3", "Bolts for the keel. She rows")
    page.wait_for("document.querySelector('.summary.changed')")
    page.press("ArrowLeft")
    page.wait_for_text("1 of 3", "#Harbour The keel of the boat")
    page.wait_for("document.querySelector('h1').textContent !== 'The keel Dora'")
    page.press("ArrowRight")
    page.wait_for("document.querySelector('h1.changed').textContent === 'The keel Dora'")


def test_opening_a_sleeping_file_shows_the_wait(page: Page, world: World, api: httpx.Client) -> None:
    assert api.post(f"/files/{world.file_id}/compress").status_code == 200
    show(page, f"records/{world.record_id}/2")
    page.wait_for("document.querySelector('.file .state.dormant') && document.querySelector('.wanted')")
    page.run(
        "new MutationObserver((_, seen) => { if (document.querySelector('.waiting progress')) {"
        "window.waited = document.querySelector('.waiting').innerText; seen.disconnect() } })"
        ".observe(document.querySelector('.opening'), {childList: true})"
    )
    page.click(".file button", "Open the file")
    page.wait_for_text("Opened in ", "Save ")
    assert page.run("window.waited").startswith("Waking the file…")
    page.wait_for("document.querySelector('.file .state.active')")
    assert page.run("document.querySelector('a[download]').href").startswith("blob:")
    assert api.get(f"/files/{world.file_id}").json()["state"] == "active"


def test_search_marks_words_and_gives_reasons(page: Page, world: World) -> None:
    show(page, "search")
    page.fill("input[type=search]", "Who needs bolts for the keel?")
    page.press("Enter")
    page.wait_for("document.querySelector('.hits mark')")
    assert {"Bolts", "keel"} <= set(page.run("[...document.querySelectorAll('.hits mark')].map((m) => m.textContent)"))
    page.wait_for("[...document.querySelectorAll('.text mark')].some((mark) => mark.textContent === 'bolts')")
    page.click(".hits summary")
    page.wait_for_text("Score", "through api")
    page.click(".panel summary", "How this was found")
    page.wait_for_text("Nodes that were searched")
    page.click(".search button", "Answer")
    page.wait_for("document.querySelector('.answer .cite')")
    page.click(".answer .cite")
    page.wait_for("document.activeElement.dataset.citation === '1'")
    assert "keel" in page.run("document.activeElement.querySelector('blockquote').textContent")
    assert "bolts" not in page.run("location.href")


def test_graph_shows_two_steps_and_opens_a_shell(page: Page, world: World) -> None:
    show(page, "graph")
    page.wait_for_text("nodes shown, 1 left out")  # the crane is three steps away
    page.wait_for("document.querySelector('.canvas')._cyreg.cy.nodes().length > 3")
    place = page.run(
        f"(() => {{ const at = document.querySelector('.canvas')._cyreg.cy.getElementById('{world.persona_id}')"
        ".renderedPosition(), box = document.querySelector('.canvas').getBoundingClientRect();"
        " return [at.x + box.x, at.y + box.y] })()"
    )
    for kind in ("mousePressed", "mouseReleased"):
        page.send("Input.dispatchMouseEvent", type=kind, x=place[0], y=place[1], button="left", clickCount=1)
    page.wait_for("document.querySelector('.shell h1').textContent === 'Lawyer'")
    page.choose("main select", "9")
    page.wait_for_text("nodes shown, 0 left out")


@pytest.mark.parametrize("size", [30, 300])
def test_graph_is_laid_out_without_overlaps(page: Page, size: int) -> None:
    check = (ROOT / "tests" / "data" / "layout_check.js").read_text(encoding="utf-8")
    found = page.run(f"{check}({size})")
    assert (found["nodes"], found["overlaps"], found["through"]) == (size, 0, 0)
    assert found["edges"] > size


def test_seen_as_a_persona(page: Page, world: World, api: httpx.Client) -> None:
    show(page, "")
    page.wait_for("document.querySelector('.seen-as option:nth-child(2)')")
    page.choose(".seen-as select", 1)
    page.wait_for_text("Seen as Lawyer")
    show(page, "nodes")
    page.wait_for("document.querySelector('[role=tree]')")
    shown = page.run("[...document.querySelectorAll('[role=treeitem]')].map((one) => one.dataset.node)")
    assert set(shown) == {str(world.node_id), str(world.persona_id)}
    assert "Decide" not in page.run("document.querySelector('nav').textContent")
    keys = [key for key in api.get("/keys").json()["keys"] if key["persona_id"] == str(world.persona_id)]
    assert len(keys) == 1
    assert keys[0]["expires_at"] is not None
    page.click(".seen-as button", "Back to my view")
    show(page, "nodes")
    page.wait_for("document.querySelectorAll('[role=treeitem]').length === 3")
    assert not [key for key in api.get("/keys").json()["keys"] if key["persona_id"] == str(world.persona_id)]


def test_grants_are_given_and_revoked(page: Page, api: httpx.Client) -> None:
    show(page, "access")
    page.wait_for("document.querySelectorAll('[aria-label=Grants] li').length === 2")
    page.choose("form select", "third party")
    page.fill("form input[type=text]", "calendar")
    page.wait_for_text("This opens 0 memories.")
    page.run("(() => { const node = document.querySelectorAll('form select')[1]; node.selectedIndex = 1;"
             " node.dispatchEvent(new Event('change')) })()")  # fmt: skip
    page.wait_for_text("What it opens")
    page.click("form button", "Give access")
    page.wait_for("document.querySelector('.rows').textContent.includes('calendar')")
    assert page.run("document.querySelector('form input[type=text]').value") == ""
    assert len(api.get("/grants").json()["grants"]) == 3
    page.click(".rows button", "Revoke")
    page.click(".rows button", "Revoke it from calendar")
    page.wait_for_text("calendar no longer sees")
    assert len(api.get("/grants").json()["grants"]) == 2


def test_personas_and_keys_are_made(page: Page, api: httpx.Client) -> None:
    show(page, "access")
    page.fill("form:nth-of-type(2) input", "Coach")
    page.click("form button", "Make the persona")
    page.wait_for(
        "[...document.querySelectorAll('form:nth-of-type(3) option')].some((one) => one.textContent.includes('Coach'))"
    )
    (coach,) = [one for one in api.get("/personas").json()["personas"] if one["path"].endswith("/Coach")]
    page.run("(() => { const whose = document.querySelector('form:nth-of-type(3) select');"
             " whose.value = [...whose.options].find((one) => one.textContent.includes('Coach')).value;"
             " whose.dispatchEvent(new Event('change')) })()")  # fmt: skip
    page.run("document.querySelectorAll('form:nth-of-type(3) input[type=text]')[1].value = 'running'")
    page.click("form button", "Make the key")
    page.wait_for("document.querySelector('.made code')")
    secret = page.run("document.querySelector('.made code').textContent")
    seen = api.get("/tree", headers={"Authorization": f"Bearer {secret}"})
    assert seen.json()["node_id"] == coach["node_id"]
    page.wait_for("document.querySelector('[aria-label=Keys]').textContent.includes('running')")
    page.run("[...document.querySelectorAll('[aria-label=Keys] li')].find((one) => one.textContent.includes('running'))"
             ".querySelector('button').click()")  # fmt: skip
    page.click("[aria-label=Keys] button", "Revoke the key running")
    page.wait_for_text("The key running is revoked.")
    assert api.get("/tree", headers={"Authorization": f"Bearer {secret}"}).status_code == 401


def test_failures_are_tried_again(page: Page, world: World, api: httpx.Client) -> None:
    show(page, "failures")
    page.wait_for_text("the model refused this segment")
    page.click(".rows button", "Try again")
    page.wait_for_text("It waits for its next attempt.")
    assert api.get("/failures").json()["failures"] == []


def test_decisions_are_keys(page: Page, world: World, api: httpx.Client) -> None:
    for place in ("Porto", "Oslo"):
        world.people.tell(world.record_id, f"Ole lives in {place}.", 1, confidence=0.9)
    world.people.reconcile()
    waiting = len(api.get("/actions").json()["actions"])
    show(page, "decide")
    page.wait_for_text(f"{waiting} decisions waiting")
    page.wait_for("document.querySelectorAll('.side').length === 2")
    for key, left in (("i", 0), ("r", 1), ("m", 2), ("a", 3)):
        page.press(key)
        page.wait_for(f"document.querySelector('main').textContent.includes('{waiting - left} decision')")
        page.wait_for("document.querySelector('.action [data-key=a]')")
    states = sorted(action["state"] for action in api.get("/actions", params={"all": True}).json()["actions"])
    assert states == ["executed", "open", "rejected", "rejected"]  # what both hold for is rejected, too


def test_the_second_of_two_statements_is_kept(page: Page, world: World, api: httpx.Client) -> None:
    for place in ("Porto", "Oslo"):
        world.people.tell(world.record_id, f"Eva lives in {place}.", 1, confidence=0.9)
    world.people.reconcile()
    newest = api.get("/actions").json()["actions"][0]
    assert newest["kind"] == "resolve"
    show(page, "failures")
    page.wait_for("document.querySelector('main').dataset.view === 'failures'")
    show(page, "decide")
    page.wait_for_text("Which one holds?", "Eva lives in Porto.", "Eva lives in Oslo.")
    page.press("s")
    page.wait_for("!document.querySelector('main').textContent.includes('Eva')")
    assert api.get(f"/facts/{newest['fact_id']}").json()["status"] == "archived"
    assert api.get(f"/facts/{newest['other_fact_id']}").json()["status"] == "active"
    assert newest["action_id"] not in {action["action_id"] for action in api.get("/actions").json()["actions"]}


def test_spaces_are_made_and_removed(page: Page, api: httpx.Client) -> None:
    show(page, "spaces")
    page.wait_for_text("harbour")
    page.fill("form input[required]", "garden")
    page.click("form button", "Make the space")
    page.wait_for("document.querySelector('.rows').textContent.includes('garden')")
    page.click(".rows a", "garden")
    page.wait_for_text("This space is empty.")
    page.click(".heading button", "Remove the space")
    page.click(".heading button", "Remove it")
    page.wait_for("location.hash === '#/spaces'")
    assert [space["container_tag"] for space in api.get("/spaces").json()["spaces"]] == ["harbour"]


def test_upload_shows_progress_until_stored(page: Page, shared_installation: Installation, tmp_path: Path) -> None:
    file = tmp_path / "tides.txt"
    file.write_text("High water at Orrin is at six in the morning.\n")
    show(page, "upload")
    page.wait_for("document.querySelector('#files')")
    page.drop_files("#files", [file])
    page.wait_for("document.querySelector('progress').value === 1")
    page.wait_for_text("tides.txt", "It waits to be read.")  # the server has it
    store(shared_installation)
    page.wait_for("[...document.querySelectorAll('main a')].some((one) => one.textContent.includes('tides'))", 40)
    show(page, "")
    show(page, "upload")
    page.click(".rows button", "tides")
    page.wait_for("location.hash.startsWith('#/records/')")
    page.wait_for_text("High water at Orrin")


def test_first_view_shows_what_came_in(page: Page, world: World, api: httpx.Client) -> None:
    waiting = len(api.get("/actions").json()["actions"])
    assert waiting
    show(page, "")
    page.wait_for_text("Lately", "Today", "The keel Dora", "Subjects", f"{waiting} decision")
    chips = page.run("[...document.querySelectorAll('.chips li')].map((one) => one.innerText)")
    below = api.get("/records", params={"node_id": str(world.node_id)}).json()["records"]
    assert f"Harbour {len(below)}" in chips
    page.fill(".home input[type=search]", "Who needs bolts for the keel?")
    page.press("Enter")
    page.wait_for("document.querySelector('.hits mark')")
    assert page.run("location.hash") == "#/search"


def test_profile_is_confirmed_corrected_pinned_and_forgotten(page: Page, world: World, api: httpx.Client) -> None:
    for statement in ("The user likes green tea.", "The user likes black bread."):
        stated = api.post("/facts", json={"statement": statement, "kind": "preference"})
        assert stated.status_code == 202, stated.text
    read(world)
    show(page, "profile")
    page.wait_for_text("Preferences", "The user likes green tea.", "The user likes black bread.")

    def click(word: str, label: str) -> None:
        page.run(f"[...{row(word)}.querySelectorAll('button')].find((one) => one.textContent === '{label}').click()")

    def row(word: str) -> str:
        return f"[...document.querySelectorAll('main .fact')].find((one) => one.textContent.includes('{word}'))"

    click("tea", "Confirm")
    page.wait_for_text("It is confirmed.")
    click("tea", "Pin")
    page.wait_for_text("It stays.")
    click("bread", "Forget")
    click("bread", "Forget it for good")
    page.wait_for_text("It is forgotten.")
    click("tea", "Correct")
    page.run(f"{row('tea')}.querySelector('input').value = 'The user likes white tea.'")
    click("tea", "Save")
    page.wait_for_text("The new words hold as soon as they are stored.")
    read(world)
    show(page, "")
    page.wait_for("document.querySelector('.who')?.innerText.includes('The user likes white tea.')")
    said = page.run("document.querySelector('.who').innerText")
    assert "green tea" not in said
    assert "black bread" not in said


def test_narrow_page_has_no_sideways_scroll(page: Page, world: World) -> None:
    page.resize(360, 740)
    for place in (
        "",
        "profile",
        f"nodes/{world.node_id}",
        f"records/{world.record_id}",
        "graph",
        "access",
        "decide",
        "spaces",
        "upload",
    ):
        show(page, place)
        page.wait_for("document.querySelector('main > *') && !document.querySelector('main .loading')")
        assert page.run("document.documentElement.scrollWidth") <= 360, place
    page.resize(1280, 860)
