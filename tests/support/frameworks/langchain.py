"""The retriever and the history of LangChain: with its real package, against the server at NEURIGRAPH_URL."""

import asyncio

from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.runnables.history import RunnableWithMessageHistory

from neurigraph_client import Memory
from neurigraph_client.langchain import NeurigraphChatMessageHistory, NeurigraphRetriever

CALL = {"name": "weather", "args": {"place": "Kiel", "n": 2**60}, "id": "c1", "type": "tool_call"}
MESSAGES = [
    SystemMessage("Be brief."),
    HumanMessage([{"type": "text", "text": "What is the weather in Kiel?"}]),
    AIMessage("", tool_calls=[CALL], usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}),
    ToolMessage("Rain \u0000 and wind.", tool_call_id="c1", artifact={"degrees": 7.5}),
    AIMessage("It rains.", id="a1"),
]


def test_retriever_finds_memories_as_documents() -> None:
    memory = Memory()
    memory.add("The boiler's code is 4711.", wait=60, title="Boiler", metadata={"team": "blue"}, container_tags=["lc"])
    memory.add("The boat is painted green.", wait=60)
    retriever = NeurigraphRetriever(memory=memory, k=5, filters={"container_tags": ["lc"]})
    (found,) = retriever.invoke("What is the code of the boiler?")
    assert "4711" in found.page_content
    assert (found.metadata["title"], found.metadata["team"]) == ("Boiler", "blue")
    assert found.metadata["record_id"] == found.id
    assert asyncio.run(retriever.ainvoke("code of the boiler")) == retriever.invoke("code of the boiler")


def test_history_comes_back_as_it_was_added() -> None:
    memory = Memory()
    history = NeurigraphChatMessageHistory("chat-1", memory, title="Weather")
    assert history.messages == []
    history.add_messages(MESSAGES[:2])
    history.add_messages(MESSAGES[2:])
    assert history.messages == MESSAGES
    (source,) = memory.sources("conversation", external_id="chat-1")
    memory.end_conversation(source.source_id)
    memory.stored("conversation", source.source_id)
    again = NeurigraphChatMessageHistory("chat-1", memory)
    assert again.messages == MESSAGES
    again.add_user_message("And tomorrow?")
    assert again.messages == [*MESSAGES, HumanMessage("And tomorrow?")]
    assert memory.search("weather in Kiel").hits[0].title == "Weather"
    again.clear()
    assert again.messages == []
    again.add_ai_message("New.")
    assert asyncio.run(again.aget_messages()) == [AIMessage("New.")]


def test_a_chain_uses_it() -> None:
    memory = Memory()
    prompt = ChatPromptTemplate.from_messages([MessagesPlaceholder("past"), ("human", "{said}")])
    chain = RunnableWithMessageHistory(
        prompt | FakeListChatModel(responses=["Hello Bob.", "You are Bob."]),
        lambda session_id: NeurigraphChatMessageHistory(session_id, memory),
        input_messages_key="said",
        history_messages_key="past",
    )
    for said in ("I am Bob.", "Who am I?"):
        chain.invoke({"said": said}, config={"configurable": {"session_id": "chat-2"}})
    texts = [one.text for one in NeurigraphChatMessageHistory("chat-2", memory).messages]
    assert texts == ["I am Bob.", "Hello Bob.", "Who am I?", "You are Bob."]
