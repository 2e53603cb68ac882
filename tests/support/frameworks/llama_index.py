"""The memory block of LlamaIndex: with its real package, against the server at NEURIGRAPH_URL."""

import asyncio

from llama_index.core.llms import ChatMessage
from llama_index.core.memory import Memory as ChatMemory

from neurigraph_client import Memory
from neurigraph_client.llama_index import NeurigraphMemoryBlock


def test_what_left_the_chat_comes_back_in_the_block() -> None:
    client = Memory()
    block = NeurigraphMemoryBlock(memory=client, budget=300, where={"container_tags": ["llama"]})
    chat = ChatMemory.from_defaults(
        session_id="llama-1",
        token_limit=60,
        token_flush_size=20,
        chat_history_token_ratio=0.5,
        memory_blocks=[block],
        tokenizer_fn=str.split,
    )

    async def run() -> str:
        assert await block.aget([]) == ""
        await chat.aput(ChatMessage(role="user", content="My spare key hangs behind the blue door of the shed."))
        for number in range(8):
            await chat.aput(ChatMessage(role="user", content=f"Line {number} is about nothing in particular at all."))
        for source in client.sources("conversation", container_tags="llama"):
            await asyncio.to_thread(client.stored, "conversation", source.source_id)
        await chat.aput(ChatMessage(role="user", content="Where does my spare key hang?"))
        return "\n".join(one.content or "" for one in await chat.aget())

    seen = asyncio.run(run())
    assert "blue door" in seen.split("Where does my spare key hang?")[0]
