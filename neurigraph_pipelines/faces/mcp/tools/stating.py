"""``state_fact``: a fact that an agent states, with an assistant's authority, or takes back."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import Field

from neurigraph_pipelines.faces.mcp.calls import AgentCall
from neurigraph_pipelines.faces.mcp.tools.answer import Result
from neurigraph_pipelines.faces.mcp.tools.tool import Arguments, Tool, takes
from neurigraph_pipelines.faces.operations import facts as operations
from neurigraph_pipelines.model.errors import InvalidInputError


@takes(operations.state_fact, statement="", who="", path="")
class StateFactArguments(Arguments):
    """Arguments of ``state_fact``."""

    statement: str = Field(default="", description="One sentence that stands alone.")
    retract: str = Field(default="", description="Instead: fact_id to take back.")


class FactWritten(Result):
    """A fact that was ``stated`` or ``retracted``, or ``known`` already."""

    fact_id: str
    done: str

    def lines(self) -> Iterator[str]:
        """Yield the written fact, and the way to see it."""
        if self.done == "retracted":
            yield f"fact_id {self.fact_id} is taken back, and what says the same. The person can confirm it again."
        elif self.done == "stated":
            yield f"Stated: fact_id {self.fact_id}. memory_facts shows it in two minutes, as said by an assistant."
        else:
            yield f"The same was stated already: fact_id {self.fact_id}. Nothing was written."


def state(call: AgentCall, given: StateFactArguments) -> FactWritten:
    """State a fact, or take one back."""
    if bool(given.statement.strip()) == bool(given.retract):
        raise InvalidInputError("give a statement, or the fact_id to retract")
    if given.retract:
        fact_id = call.id_of("fact", given.retract)
        call.do(operations.retract_fact, {"fact_id": fact_id})
        return FactWritten(fact_id=str(fact_id), done="retracted")
    stated = call.do(operations.state_fact, given.of(operations.state_fact))
    return FactWritten(fact_id=str(stated.fact_id), done="stated" if stated.created else "known")


STATE_FACT = Tool(
    "state_fact",
    "State one fact, as an assistant, or take one back.",
    StateFactArguments,
    FactWritten,
    state,
)
