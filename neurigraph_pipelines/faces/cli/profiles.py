"""Profiles of nodes: the command ``reprofile``, and the lines that ``node`` shows."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import typer

from neurigraph_pipelines.faces.cli.output import Json, Output, counted
from neurigraph_pipelines.faces.cli.session import AnyUserSlug, claims_of, opened

if TYPE_CHECKING:
    from neurigraph_pipelines.views.graph import Profile

commands = typer.Typer()


@commands.command()
def reprofile(user: AnyUserSlug = None, as_json: Json = False) -> None:
    """Rebuild the profiles of nodes that are missing or stale, as happens every night.

    If the command is interrupted, run it again to continue.
    """
    from neurigraph_pipelines.graph.profile_building import rebuild_profiles

    output = Output(as_json)
    with opened() as installation:
        user_id = claims_of(installation, user, whole_graph=True).user_id if user is not None else None
        with output.progress() as progress:
            task = progress.add_task("profiling", total=None)
            done = rebuild_profiles(
                installation.database, user_id=user_id, on_done=lambda count: progress.advance(task, count)
            )

    def view() -> Any:
        from neurigraph_pipelines.faces.cli import views

        more = "; run the command again for the rest" if done.limit_reached else ""
        return views.lines(f"{counted(done.profiles, 'profile')} of {counted(done.nodes, 'node')} rebuilt{more}")

    output.result(asdict(done), view)


def profile_lines(profile: Profile | None) -> dict[str, str]:
    """Return the fields of a node's profile that its page shows, by label."""
    if profile is None:
        return {}
    state = f"{profile.rebuilt_at:%Y-%m-%d}{', stale' if profile.is_stale else ''}"
    lines = {
        "profile": f"{counted(profile.records, 'record')} from {profile.first_at:%Y-%m-%d} to "
        f"{profile.last_at:%Y-%m-%d}; made {state}",
        "about": ", ".join(f"{each.word} {each.weight:.0%}" for each in profile.descriptors),
        "centroids": "; ".join(f"{each.share:.0%} {', '.join(each.descriptors)}".strip() for each in profile.centroids),
    }
    if (drift := profile.drift) is not None:
        lines["drift"] = (
            f"{drift.distance:.2f} between the newest {drift.recent_records} and the {drift.baseline_records} before"
        )
    return lines
