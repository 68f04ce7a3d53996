"""Graphs as models of the official `openai` package's responses, of LangChain's ChatOpenAI and of litellm: whole,
streamed, with a conversation, as JSON of a schema, refused."""

import json

import litellm
import openai
from langchain_openai import ChatOpenAI
from pydantic import BaseModel, Field

import graphs

BASE = graphs.URL + "/openai/v1"
QUESTION = "Where is my parcel?"
TALK = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi"},
        {"role": "user", "content": QUESTION}]


class Reply(BaseModel):
    answer: str
    mood: str


class Short(BaseModel):
    answer: str = Field(max_length=1)


def with_responses():
    client = openai.OpenAI(base_url=BASE, api_key=graphs.KEY, max_retries=0)
    whole = client.responses.create(model="desk/reply", input=QUESTION)
    assert whole.output_text and whole.status == "completed" and whole.usage.total_tokens > 0, whole
    kinds, text = [], ""
    for event in client.responses.create(model="desk/reply", input=TALK, stream=True):
        kinds.append(event.type)
        if event.type == "response.output_text.delta":
            text += event.delta
    assert kinds[0] == "response.created" and kinds[-1] == "response.completed", kinds
    assert text == whole.output_text, text
    with client.responses.stream(model="talk", input=TALK, instructions="Be kind") as stream:
        final = stream.get_final_response()
    assert final.output_text, final
    parsed = client.responses.parse(model="desk/reply", input=QUESTION, text_format=Reply)
    assert parsed.output_parsed.answer == whole.output_text, parsed
    try:
        client.chat.completions.parse(model="desk/reply", messages=TALK, response_format=Short)
        raise SystemExit("an answer beyond the bounds of a strict schema was accepted")
    except openai.UnprocessableEntityError as refused:
        assert "/answer" in refused.body["message"], refused
    for options, error in [({"model": "nothing", "input": "?"}, openai.NotFoundError),
                           ({"model": "desk/reply", "input": "?", "previous_response_id": "resp_1"},
                            openai.BadRequestError)]:
        try:
            client.responses.create(**options)
            raise SystemExit(f"{options} was answered")
        except error as refused:
            assert refused.body["message"], refused
    return whole.output_text


def with_langchain(answer):
    model = ChatOpenAI(model="desk/reply", base_url=BASE, api_key=graphs.KEY, max_retries=0)
    found = model.invoke(QUESTION)
    assert found.content == answer and found.usage_metadata["total_tokens"] > 0, found
    assert "".join(chunk.content for chunk in model.stream(QUESTION)) == answer
    for method in ["function_calling", "json_schema"]:
        assert model.with_structured_output(Reply, method=method).invoke(QUESTION).answer == answer
    talk = ChatOpenAI(model="talk", base_url=BASE, api_key=graphs.KEY, max_retries=0)
    found = talk.invoke([("user", "Hello"), ("assistant", "Hi"), ("user", QUESTION)])
    run = graphs.request("GET", f"/v1/runs/{found.response_metadata['id'].removeprefix('chatcmpl-')}")
    assert run["inputs"]["question"] == QUESTION and len(run["inputs"]["history"]) == 2, run
    responses = ChatOpenAI(model="desk/reply", base_url=BASE, api_key=graphs.KEY, use_responses_api=True)
    assert responses.invoke(QUESTION).text == answer
    streamed = "".join(chunk.text for chunk in responses.stream(QUESTION))
    assert streamed == answer, streamed


def with_litellm(answer):
    options = {"model": "openai/desk/reply", "api_base": BASE, "api_key": graphs.KEY, "num_retries": 0}
    messages = [{"role": "user", "content": QUESTION}]
    found = litellm.completion(messages=messages, **options)
    assert found.choices[0].message.content == answer and found.usage.total_tokens > 0, found
    chunks = litellm.completion(messages=messages, stream=True, **options)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == answer
    formed = litellm.completion(messages=messages, response_format=Reply, **options)
    assert json.loads(formed.choices[0].message.content)["answer"] == answer, formed
    assert litellm.responses(input=QUESTION, **options).output_text == answer
    try:
        litellm.completion(messages=messages, **{**options, "model": "openai/nothing"})
        raise SystemExit("a model that does not exist answered")
    except litellm.exceptions.BadRequestError as refused:
        # It recognizes a model that does not exist only by a code of OpenAI.
        assert "there is no graph `nothing`" in str(refused), refused


answer = with_responses()
print("ok: the openai package's responses:", answer)
with_langchain(answer)
print("ok: langchain's ChatOpenAI")
with_litellm(answer)
print("ok: litellm")
