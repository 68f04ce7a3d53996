"""Graphs as models of pydantic-ai, whose default form of an answer is a tool, and of Instructor: whole, streamed, with a
conversation, with bounds that the answer does not keep."""

import asyncio

import instructor
import openai
from pydantic import BaseModel, Field
from pydantic_ai import Agent, UnexpectedModelBehavior
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.output import NativeOutput
from pydantic_ai.providers.openai import OpenAIProvider

import graphs

BASE = graphs.URL + "/openai/v1"
QUESTION = "Where is my parcel?"


class Reply(BaseModel):
    answer: str
    mood: str


class Short(BaseModel):
    answer: str = Field(max_length=1)


async def with_pydantic_ai():
    provider = OpenAIProvider(base_url=BASE, api_key=graphs.KEY)
    for model in [OpenAIChatModel("desk/reply", provider=provider), OpenAIResponsesModel("desk/reply", provider=provider)]:
        for form in [Reply, NativeOutput(Reply)]:
            agent = Agent(model, output_type=form)
            first = await agent.run(QUESTION)
            assert first.output.answer and first.output.mood, first
            assert first.usage.output_tokens > 0, first.usage
            again = await agent.run("And now?", message_history=first.all_messages())
            assert again.output.answer, again
            async with agent.run_stream(QUESTION) as stream:
                assert (await stream.get_output()).answer == first.output.answer
        for form in [Short, NativeOutput(Short, strict=True)]:
            try:
                await Agent(model, output_type=form, retries=0).run(QUESTION)
                raise SystemExit("an answer beyond the bounds was accepted")
            except (UnexpectedModelBehavior, ModelHTTPError):
                pass


def with_instructor():
    client = instructor.from_openai(openai.OpenAI(base_url=BASE, api_key=graphs.KEY, max_retries=0))
    messages = [{"role": "user", "content": QUESTION}]
    found = client.chat.completions.create(model="desk/reply", messages=messages, response_model=Reply)
    assert found.answer and found.mood, found


asyncio.run(with_pydantic_ai())
print("ok: pydantic-ai, with tools and with schemas, chat and responses")
with_instructor()
print("ok: instructor")
