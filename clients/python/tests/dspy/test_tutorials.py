"""DSPy's tutorial programs, pushed and executed: each graph answers as its program over the same scripted LM."""

from __future__ import annotations

import dspy
import tutorials
from alike import assert_alike
from conftest import Run

from dsrs_client import Client
from dsrs_client.dspy import push


def test_classification_with_a_literal_answers_as_in_dspy(client: Client, name: str, lm: dspy.LM) -> None:
    program = dspy.Predict(tutorials.Emotion)
    pushed = push(program, name, client=client)
    outputs = assert_alike(client, program, pushed, {"sentence": "I passed the exam!"})
    assert outputs == {"sentiment": "joy", "confidence": 0.75}
    signature = pushed.graph["nodes"]["predict"]["signature"]
    assert signature["instructions"] == "Classify emotion."
    assert signature["outputs"][0]["type"] == '"sadness" | "joy" | "love" | "anger" | "fear" | "surprise"'
    assert signature["outputs"][1]["description"] == "between 0 and 1"


def test_information_extraction_answers_as_in_dspy(client: Client, name: str, lm: dspy.LM) -> None:
    program = dspy.Predict(tutorials.ExtractInfo)
    pushed = push(program, name, client=client)
    outputs = assert_alike(client, program, pushed, {"text": "Apple announced its latest iPhone."})
    assert outputs["entities"] == [{"name": "Apple", "kind": "organization"}]


def test_rag_answers_as_in_dspy_with_its_search_at_the_caller(client: Client, name: str, lm: dspy.LM) -> None:
    program = tutorials.RAG()
    pushed = push(program, name, client=client, outside={"search": list[str]})
    assert pushed.graph["nodes"]["search"]["strategy"] == "await"
    assert pushed.graph["nodes"]["respond"]["signature"]["inputs"][0]["type"] == "list[str]"
    assert_alike(client, program, pushed, {"question": "castle"}, {"search": tutorials.search})


def test_multi_hop_answers_as_in_dspy_with_a_node_for_each_hop(client: Client, name: str, lm: dspy.LM) -> None:
    program = tutorials.Hop()
    pushed = push(program, name, client=client, outside={"search": list[str]})
    assert pushed.paths == {
        "generate_query.predict": ["generate_query.predict", "generate_query_2.predict"],
        "append_notes.predict": ["append_notes.predict", "append_notes_2.predict"],
    }
    inputs = {"claim": "The castle of David Gregory has five storeys."}
    outputs = assert_alike(client, program, pushed, inputs, {"search": tutorials.search})
    assert outputs["titles"] == ["David Gregory", "Kinnairdy Castle"]


def test_a_react_agent_answers_as_in_dspy_with_tools_of_the_server(
    client: Client, run: Run, name: str, lm: dspy.LM
) -> None:
    program = tutorials.agent()
    tools = {"evaluate_math": "calculator", "search_wikipedia": "current_time"}
    pushed = push(program, name, client=client, tools=tools)
    assert pushed.paths == {"react": ["re_act.action"], "extract.predict": ["re_act.extract.predict"]}
    assert run(name, {"question": "What is 9 + 1?"}) == {"answer": program(question="What is 9 + 1?").answer}


def test_the_article_of_the_front_page_has_a_section_for_each_heading_of_its_outline(
    client: Client, name: str, lm: dspy.LM
) -> None:
    program = tutorials.DraftArticle()
    pushed = push(program, name, client=client)
    assert pushed.paths["draft_section.predict"] == ["map.module.draft_section.predict"]
    outputs = assert_alike(client, program, pushed, {"topic": "Linux"})
    assert [section["content"] for section in outputs["sections"]] == ["calm", "calm"]
