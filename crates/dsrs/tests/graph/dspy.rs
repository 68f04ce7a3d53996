//! Files of DSPy: read into a tuned state, and written so that DSPy loads them.
//! `tests/it/shows/dspy.rs` of the server tests them with DSPy itself.

use crate::support::{Env, build};
use dsrs::graph::{DspyImport, GraphState, Program, from_dspy, to_dspy};
use dsrs::problem::{At, Problems};
use dsrs::value::Payload;

const GRAPH: &str = r#"{"name": "g", "types": {"Person": {"class": {"name": "str", "friends": "list[str]"}}},
  "nodes": {
    "triage": {"strategy": "predict", "signature": {"instructions": "Judge.",
        "inputs": [{"name": "ticket", "type": "str"}, {"name": "person", "type": "Person", "description": "who wrote"}],
        "outputs": [{"name": "mood", "type": "'calm' | 'angry'"}, {"name": "topics", "type": "list[str]"}]}},
    "reply": {"strategy": "chain_of_thought", "signature": "ticket, mood: str -> answer"}},
  "edges": [{"from": "triage.mood", "to": "reply.mood"}]}"#;

const PREDICT: &str = r#"{"name": "g", "nodes": {
    "ask": {"strategy": "predict", "signature": "question, hint: str? -> answer"}}}"#;

const REASON: &str = r#"{"name": "g", "nodes": {
    "ask": {"strategy": "chain_of_thought", "signature": "question -> answer"}}}"#;

/// What `dspy` 3.0.4 writes for the same two modules.
const FILE: &str = r#"{
  "triage": {
    "traces": [],
    "train": [],
    "demos": [
      {"ticket": "x", "person": {"name": "Ann", "friends": ["Bo"]}, "mood": "calm", "topics": ["a"],
       "augmented": true, "dspy_uuid": "1", "dspy_split": "train"},
      {"question": "of another module"}
    ],
    "signature": {"instructions": "Judge the ticket.", "fields": [
      {"prefix": "Ticket:", "description": "${ticket}"}, {"prefix": "Person:", "description": "who wrote"},
      {"prefix": "Mood:", "description": "${mood}"}, {"prefix": "Topics:", "description": "all of them"}]},
    "lm": {"model": "openai/gpt-4o-mini", "model_type": "chat", "cache": true, "num_retries": 3,
      "finetuning_model": null, "launch_kwargs": {}, "train_kwargs": {}, "temperature": 0.5, "max_tokens": 100}
  },
  "reply.predict": {
    "traces": [],
    "train": [{"ticket": "x"}],
    "demos": [{"ticket": "x", "mood": "calm", "reasoning": null, "answer": "y"}],
    "signature": {"instructions": "Reply.", "fields": [
      {"prefix": "Ticket:", "description": "${ticket}"}, {"prefix": "Mood:", "description": "${mood}"},
      {"prefix": "Reasoning: Let's think step by step in order to", "description": "${reasoning}"},
      {"prefix": "Answer:", "description": "${answer}"}]},
    "lm": null
  },
  "metadata": {"dependency_versions": {"python": "3.11", "dspy": "3.0.4", "cloudpickle": "3.1"}}
}"#;

fn graph(document: &str) -> Program {
    build(document).unwrap_or_else(|problems| panic!("{problems}"))
}

fn payload(text: &str) -> Payload {
    Payload::from_json(text).unwrap()
}

fn read(file: &str, program: &Program) -> DspyImport {
    let found = from_dspy(&payload(file), program, &At::Root);
    found.unwrap_or_else(|problems| panic!("{problems}"))
}

fn refused(file: &str, program: &Program) -> Vec<String> {
    let problems = from_dspy(&payload(file), program, &At::Root).unwrap_err();
    problems.iter().map(|p| format!("{} {}", p.pointer, p.code)).collect()
}

fn tuned(program: &Program, state: &GraphState) -> Program {
    program.with_state(&Env, state, &At::Root).unwrap_or_else(|problems| panic!("{problems}"))
}

fn state(text: &str) -> GraphState {
    let mut problems = Problems::new();
    let state = GraphState::read(&payload(text), &At::Root, &mut problems);
    problems.or(state).unwrap().unwrap()
}

#[test]
fn a_file_of_two_modules_becomes_a_state_and_lists_ignored_members() {
    let program = graph(GRAPH);
    let found = read(FILE, &program);
    let wanted = state(
        r#"{"triage": {"instruction": "Judge the ticket.",
              "demos": [{"input": {"ticket": "x", "person": {"name": "Ann", "friends": ["Bo"]}},
                         "output": {"mood": "calm", "topics": ["a"]}}],
              "lm": {"temperature": 0.5, "max_tokens": 100}},
            "reply.predict": {"instruction": "Reply.",
              "demos": [{"input": {"ticket": "x", "mood": "calm"}, "output": {"answer": "y"}}]}}"#,
    );
    assert_eq!(found.state, wanted);
    assert_eq!(
        found.ignored,
        [
            "/triage/demos/0/augmented",
            "/triage/demos/0/dspy_uuid",
            "/triage/demos/0/dspy_split",
            "/triage/demos/1",
            "/triage/signature/fields/3/description",
            "/triage/lm/model",
            "/triage/lm/model_type",
            "/triage/lm/cache",
            "/triage/lm/num_retries",
            "/reply.predict/train",
            "/reply.predict/signature/fields/2/prefix",
            "/metadata",
        ]
    );
    tuned(&program, &found.state);
}

#[test]
fn the_instruction_that_the_signature_has_anyway_is_no_override() {
    let program = graph(GRAPH);
    let found = read(&FILE.replace("Judge the ticket.", "Judge."), &program);
    assert_eq!(found.state.0["triage"].instruction, None);
}

#[test]
fn a_lone_predict_has_no_path_and_fits_the_only_lm_node() {
    let file = r#"{"traces": [], "train": [], "demos": [{"question": "a", "hint": null, "answer": "b"}],
        "signature": {"instructions": "Answer.", "fields": [
            {"prefix": "Question:", "description": "${question}"},
            {"prefix": "Hint:", "description": "${hint}"},
            {"prefix": "Answer:", "description": "${answer}"}]},
        "lm": null, "fields": {"answer": {"criteria": "short"}},
        "metadata": {"dependency_versions": {}}}"#;
    let program = graph(PREDICT);
    let found = read(file, &program);
    let wanted = state(
        r#"{"ask": {"instruction": "Answer.",
            "demos": [{"input": {"question": "a", "hint": null}, "output": {"answer": "b"}}]}}"#,
    );
    assert_eq!(found.state, wanted);
    assert_eq!(found.ignored, ["/fields", "/metadata"]);
    let by_path = format!(r#"{{"ask": {file}}}"#);
    assert_eq!(read(&by_path, &program).state, wanted);
    assert_eq!(refused(file, &graph(GRAPH)), [" invalid_value"], "which of the two is it?");
    assert_eq!(refused(file, &graph(REASON)), [" invalid_value"], "that has a path");
}

#[test]
fn a_lone_module_is_found_without_the_name_of_the_node() {
    let file = r#"{"predict": {"demos": [{"question": "a", "reasoning": "c", "answer": "b"}],
        "signature": {"instructions": "Answer.", "fields": []}, "lm": null}}"#
        .replace(
            "[]}",
            r#"[{"prefix": "Question:"}, {"prefix": "Reasoning:"}, {"prefix": "Answer:"}]}"#,
        );
    let program = graph(REASON);
    let alone = read(&file, &program);
    assert_eq!(alone.state.0.keys().map(AsRef::as_ref).collect::<Vec<&str>>(), ["ask.predict"]);
    let within = file.replace("\"predict\":", "\"ask.predict\":");
    assert_eq!(read(&within, &program), alone);
    assert_eq!(refused(&file, &graph(GRAPH)), ["/predict unknown_field"]);
}

#[test]
fn all_misfits_are_reported_together() {
    let file = r#"{
      "triag": {"demos": [], "signature": {"instructions": "x", "fields": []}, "lm": null},
      "triage": {
        "demos": [
          {"ticket": 1, "person": {"name": "Ann"}, "mood": "cross", "topics": ["a"]},
          {"ticket": "x", "mood": "calm"},
          7
        ],
        "signature": {"instructions": 5, "fields": [
          {"prefix": "Ticket:", "description": "${ticket}"},
          {"prefix": "Question:", "description": "${question}"}]},
        "lm": {"temperature": 9.0, "max_tokens": "many"}
      },
      "reply.predict": {"demos": {}}
    }"#;
    let mut found = refused(file, &graph(GRAPH));
    found.sort();
    assert_eq!(
        found,
        [
            "/reply.predict/demos wrong_type",
            "/reply.predict/signature missing_field",
            "/triag unknown_field",
            "/triage/demos/0/mood invalid_value",
            "/triage/demos/0/person/friends missing_field",
            "/triage/demos/0/ticket wrong_type",
            "/triage/demos/1/person missing_field",
            "/triage/demos/2 wrong_type",
            "/triage/lm/max_tokens wrong_type",
            "/triage/lm/temperature invalid_value",
            "/triage/signature/fields invalid_value",
            "/triage/signature/fields/1 unknown_field",
            "/triage/signature/instructions wrong_type",
        ]
    );
    assert_eq!(refused("[]", &graph(GRAPH)), [" wrong_type"]);
}

#[test]
fn an_export_reads_back_without_settings() {
    for (document, tuning) in [
        (
            GRAPH,
            r#"{"triage": {"instruction": "Look.", "demos": [
            {"input": {"ticket": "z\u0000", "person": {"name": "Ann", "friends": []}},
             "output": {"mood": "angry"}}]}}"#,
        ),
        (
            PREDICT,
            r#"{"ask": {"instruction": "Look.", "demos": [
            {"input": {"question": "a", "hint": null}, "output": {"answer": "b"}}]}}"#,
        ),
        (
            REASON,
            r#"{"ask.predict": {"demos": [
            {"input": {"question": "a"}, "output": {"reasoning": "c", "answer": "b"}}]}}"#,
        ),
    ] {
        let (program, wanted) = (graph(document), state(tuning));
        let written = to_dspy(&tuned(&program, &wanted)).unwrap();
        let mut found = read(&written.to_json(), &program);
        found.state.0.retain(|_, state| !state.is_default());
        assert_eq!(found.state, wanted, "{}", written.to_json());
        assert_eq!(found.ignored, ["/metadata"]);
    }
}

#[test]
fn the_only_lm_node_is_also_written_as_a_lone_module() {
    let members = |document: &str| {
        let written = to_dspy(&graph(document)).unwrap();
        let members = written.as_map().unwrap().keys().map(ToString::to_string);
        members.collect::<Vec<String>>()
    };
    assert_eq!(members(GRAPH), ["triage", "reply.predict", "metadata"]);
    assert_eq!(members(REASON), ["predict", "ask.predict", "metadata"]);
    let flat = ["traces", "train", "demos", "signature", "lm"].map(str::to_owned).to_vec();
    let both = [flat.clone(), vec!["ask".to_owned(), "metadata".to_owned()]].concat();
    assert_eq!(members(PREDICT), both);
    let named = PREDICT.replace("\"ask\"", "\"config\"");
    let without = [flat, vec!["metadata".to_owned()]].concat();
    assert_eq!(members(&named), without, "`config` would replace the module's own");
}

#[test]
fn an_export_has_dspys_shape_and_lists_losses() {
    let tuning = state(r#"{"ask.predict": {"lm": {"temperature": 0.5, "model": "fast"}}}"#);
    let program = tuned(&graph(REASON), &tuning);
    let own = payload(&to_dspy(&program).unwrap().to_json());
    let own = own.as_map().unwrap()["predict"].to_json();
    let instruction = Payload::from(program.predictors()[0].1.instruction()).to_json();
    let described = program.predictors()[0].1.schema().outputs[0].description.clone();
    let described = described.map_or("${reasoning}".to_owned(), |text| text.to_string());
    assert_eq!(
        own,
        format!(
            concat!(
                r#"{{"traces":[],"train":[],"demos":[],"signature":{{"instructions":{},"fields":["#,
                r#"{{"prefix":"Question:","description":"${{question}}"}},"#,
                r#"{{"prefix":"Reasoning:","description":{}}},"#,
                r#"{{"prefix":"Answer:","description":"${{answer}}"}}]}},"lm":null}}"#
            ),
            instruction,
            Payload::from(described.as_str()).to_json()
        )
    );
    let written = to_dspy(&program).unwrap();
    assert_eq!(
        written.as_map().unwrap()["metadata"].to_json(),
        r#"{"dependency_versions":{},"left_out":["/ask.predict/lm/model","/ask.predict/lm/temperature"]}"#
    );
}

#[test]
fn all_demos_are_exported_without_the_vectors() {
    let text = r#"{"ask.predict": {
        "demos": [{"input": {"question": "?"}, "output": {"answer": "!"}}],
        "nearest": {"model": "vectors", "k": 1, "dimensions": 1, "vectors": "AACAPw=="}}}"#;
    let written = to_dspy(&tuned(&graph(REASON), &state(text))).unwrap();
    let written = written.as_map().unwrap();
    let predictor = written["predict"].as_map().unwrap();
    assert_eq!(predictor["demos"].to_json(), r#"[{"question":"?","answer":"!"}]"#);
    let lost = written["metadata"].as_map().unwrap()["left_out"].to_json();
    assert_eq!(lost, r#"["/ask.predict/nearest"]"#);
}

#[test]
fn two_spellings_of_a_predictor_must_agree() {
    let program = graph(PREDICT);
    let written =
        to_dspy(&tuned(&program, &state(r#"{"ask": {"instruction": "Look."}}"#))).unwrap();
    let twice = written.to_json().replacen("Look.", "See.", 1);
    assert_eq!(refused(&twice, &program), ["/ask duplicate_name"]);
}

#[test]
fn a_graph_that_dspy_has_no_file_for_is_refused() {
    let codes = |document: &str| {
        let problems = to_dspy(&graph(document)).err().unwrap();
        problems.iter().map(|p| format!("{} {}", p.pointer, p.code)).collect::<Vec<_>>()
    };
    assert_eq!(codes(&GRAPH.replace("triage", "metadata")), ["/metadata reserved_name"]);
}

/// A graph that was pushed with pydantic's schema of this class, which has the aliases:
///
/// ```python
/// class Person(BaseModel):
///     user_name: str = Field(alias="userName")
///     id_: int = Field(alias="id")
///     mood: Mood
///     raw: bytes
///     born: date
///     tags: set[str]
///     pair: tuple[int, str]
///     friends: list["Person"] = []
/// ```
const PYDANTIC: &str = r##"{"name": "g", "nodes": {"ask": {"strategy": "predict", "signature": {
    "instructions": "Answer.",
    "inputs": [{"name": "who", "type": {"$ref": "#/$defs/Person", "$defs": {
        "Mood": {"enum": ["calm", "angry"], "title": "Mood", "type": "string"},
        "Person": {"type": "object", "title": "Person", "required": ["userName", "id", "mood", "born", "tags", "pair"],
            "properties": {
                "userName": {"type": "string"}, "id": {"type": "integer"}, "mood": {"$ref": "#/$defs/Mood"},
                "raw": {"type": "string", "contentEncoding": "base64", "default": "YQ=="},
                "born": {"type": "string", "format": "date"},
                "tags": {"type": "array", "items": {"type": "string"}, "uniqueItems": true},
                "pair": {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}],
                    "minItems": 2, "maxItems": 2},
                "friends": {"type": "array", "items": {"$ref": "#/$defs/Person"}, "default": []}}}}}}],
    "outputs": [{"name": "next", "type": "Person?"}, {"name": "data", "type": "bytes"}]}}}}"##;

/// The demo of such a class as DSPy 3.4.1 saves it.
const PERSON: &str = r#"{"user_name": "Ann", "id_": 3, "mood": "calm", "raw": "abcd", "born": "2026-01-02",
    "tags": ["b", "a"], "pair": [1, "x"], "friends": []}"#;

fn file_of_a_demo(demo: &str) -> String {
    format!(
        r#"{{"ask": {{"traces": [], "train": [], "demos": [{demo}], "lm": null,
            "signature": {{"instructions": "Answer.", "fields": []}}}}, "metadata": {{}}}}"#
    )
}

#[test]
fn members_have_their_names_in_python_and_bytes_are_texts() {
    let program = graph(PYDANTIC);
    let friendly = PERSON.replace(r#""friends": []"#, &format!(r#""friends": [{PERSON}]"#));
    let demo = format!(r#"{{"who": {friendly}, "next": {PERSON}, "data": "é"}}"#);
    let file = file_of_a_demo(&demo).replace(
        r#""fields": []"#,
        r#""fields": [
        {"prefix": "Who:", "description": "${who}"}, {"prefix": "Next:", "description": "${next}"},
        {"prefix": "Data:", "description": "${data}"}]"#,
    );
    let found = read(&file, &program);
    let shown = found.state.0["ask"].demos[0].clone();
    let ann = r#"{"userName":"Ann","id":3,"mood":"calm","raw":"YWJjZA==","born":"2026-01-02","tags":["b","a"],"pair":[1,"x"],"friends":[]}"#;
    assert_eq!(shown.output["next"].to_json(), ann);
    let friendly = ann.replace(r#""friends":[]"#, &format!(r#""friends":[{ann}]"#));
    assert_eq!(shown.input["who"].to_json(), friendly);
    assert_eq!(shown.output["data"], Payload::Bytes("é".as_bytes().into()));

    let written = to_dspy(&tuned(&program, &found.state)).unwrap();
    let data =
        written.as_map().unwrap()["ask"].as_map().unwrap()["demos"].as_list().unwrap()[0].clone();
    assert_eq!(data.as_map().unwrap()["data"], Payload::from("é"));
    assert_eq!(from_dspy(&written, &program, &At::Root).unwrap().state, found.state);
}

#[test]
fn a_name_that_may_mean_two_members_is_unknown() {
    let program = graph(
        r#"{"name": "g", "nodes": {"ask": {"strategy": "predict", "signature": {
        "instructions": "Answer.", "inputs": [{"name": "who", "type": "{userName: str?, username: str?}"}],
        "outputs": [{"name": "data", "type": "bytes"}]}}}}"#,
    );
    let file = file_of_a_demo(r#"{"who": {"user_name": "a"}, "data": "b"}"#);
    assert!(
        refused(&file, &program).contains(&"/ask/demos/0/who/user_name unknown_field".to_owned())
    );
}

#[test]
fn bytes_that_are_no_text_are_exported_as_base64_and_listed() {
    let program = graph(PYDANTIC);
    let state = state(
        r#"{"ask": {"demos": [{"input": {"who": {"userName": "A", "id": 1, "mood": "calm", "born": "", "tags": [],
            "pair": [1, ""]}}, "output": {"data": "/w=="}}]}}"#,
    );
    let written = to_dspy(&tuned(&program, &state)).unwrap().to_json();
    assert!(written.contains(r#""left_out":["/ask/demos/0"]"#), "{written}");
    assert!(written.contains(r#""data":"/w==""#), "{written}");
}

/// DSPy's paths for a predictor in a list, one in a dict, and one that `forward` calls twice.
const LISTED: &str = r#"{"name": "g", "nodes": {
    "steps_0": {"strategy": "predict", "signature": "question -> topic", "dspy_paths": {"": "steps[0]"}},
    "named_x": {"strategy": "chain_of_thought", "signature": "question -> answer",
        "dspy_paths": {"predict": "named['x'].predict"}},
    "steps_0_2": {"strategy": "predict", "signature": "question -> topic", "dspy_paths": {"": "steps[0]"}}},
    "outputs": {"topic": "steps_0.topic", "again": "steps_0_2.topic", "answer": "named_x.answer"}}"#;

#[test]
fn predictors_in_lists_and_dicts_have_the_paths_that_dspy_writes() {
    let program = graph(LISTED);
    let file = r#"{"steps[0]": {"demos": [], "signature": {"instructions": "Name it."}, "lm": null},
        "named['x'].predict": {"demos": [], "signature": {"instructions": "Reply."}, "lm": null}}"#;
    let found = read(file, &program);
    let wanted = state(
        r#"{"steps_0": {"instruction": "Name it."}, "steps_0_2": {"instruction": "Name it."},
            "named_x.predict": {"instruction": "Reply."}}"#,
    );
    assert_eq!(found.state, wanted);
    let written = to_dspy(&tuned(&program, &wanted)).unwrap();
    let members: Vec<&str> = written.as_map().unwrap().keys().map(AsRef::as_ref).collect();
    assert_eq!(members, ["steps[0]", "named['x'].predict", "metadata"]);
    assert_eq!(read(&written.to_json(), &program).state, wanted);
}

#[test]
fn one_predictor_of_dspy_with_two_states_is_not_written() {
    let program = graph(LISTED);
    let program = tuned(&program, &state(r#"{"steps_0_2": {"instruction": "Name it twice."}}"#));
    let problems = to_dspy(&program).unwrap_err();
    let found: Vec<String> = problems.iter().map(|p| format!("{} {}", p.pointer, p.code)).collect();
    assert_eq!(found, ["/steps[0] duplicate_name"]);
}

#[test]
fn a_path_of_dspy_for_no_predictor_is_refused() {
    let document = LISTED.replacen(r#"{"": "steps[0]"}"#, r#"{"predict": "steps[0]"}"#, 1);
    let problems = build(&document).err().unwrap();
    let found: Vec<String> = problems.iter().map(|p| format!("{} {}", p.pointer, p.code)).collect();
    assert_eq!(found, ["/nodes/steps_0/dspy_paths/predict unknown_field"]);
}

#[test]
fn the_limit_of_a_reasoning_model_is_a_limit() {
    let file = r#"{"demos": [], "signature": {"instructions": "Ask."},
        "lm": {"model": "openai/o4-mini", "temperature": null, "max_completion_tokens": 16000}}"#;
    let found = read(file, &graph(PREDICT));
    assert_eq!(
        found.state,
        state(r#"{"ask": {"instruction": "Ask.", "lm": {"max_tokens": 16000}}}"#)
    );
    assert_eq!(found.ignored, ["/lm/model"]);
}

const DECIDE: &str = r#"{"name": "g", "types": {"Queue": {"enum": {"amber": null, "blue": null}}}, "nodes": {
    "ask": {"strategy": "decide", "signature": {"instructions": "Judge.", "inputs": [{"name": "ticket", "type": "str"}],
        "outputs": [{"name": "urgent", "type": "bool", "description": "whether somebody waits"},
                    {"name": "queue", "type": "Queue"}, {"name": "mood", "type": "int"}]},
        "config": {"criteria": {"mood": ["bad", "good"]}}},
    "reply": {"strategy": "predict", "signature": "ticket -> answer"}}}"#;

/// What `dspy` 3.4.1 writes for the same predictor after `ReAnchor`, with a demo of a label and one of evidence.
const DECIDED: &str = r#"{"ask": {
    "traces": [], "train": [],
    "demos": [{"ticket": "x", "urgent": true},
              {"ticket": "y", "urgent": {"noul": 0.75}, "queue": {"probabilities": {"amber": 0.5, "blue": 0.5}}}],
    "signature": {"instructions": "Judge.", "fields": [
      {"prefix": "Ticket:", "description": "${ticket}"}, {"prefix": "Urgent:", "description": "whether somebody waits"},
      {"prefix": "Queue:", "description": "${queue}"}, {"prefix": "Mood:", "description": "${mood}"}]},
    "lm": null,
    "fields": {"urgent": {"criteria": {"true": "in a hurry"}, "threshold": 0.25}, "queue": {"weights": {"amber": 2}},
               "mood": {"cuts": [0.25]}}}}"#;

#[test]
fn rules_and_evidence_are_read_and_written_under_the_names_of_decisions() {
    let program = graph(DECIDE);
    let found = read(DECIDED, &program);
    assert_eq!(
        found.state.to_payload().to_json(),
        concat!(
            r#"{"ask":{"instruction":null,"demos":[{"input":{"ticket":"y"},"output":{"urgent_probability":0.75,"#,
            r#""queue_probabilities":{"amber":0.5,"blue":0.5}}}],"decisions":{"urgent":{"threshold":0.25},"#,
            r#""queue":{"weights":{"amber":2.0}},"mood":{"cuts":[0.25]}}}}"#
        )
    );
    assert_eq!(
        found.ignored,
        ["/ask/demos/0/urgent", "/ask/demos/0", "/ask/fields/urgent/criteria"]
    );
    let written = to_dspy(&tuned(&program, &found.state)).unwrap();
    let written = written.as_map().unwrap()["ask"].as_map().unwrap();
    assert_eq!(
        written["fields"].to_json(),
        r#"{"urgent":{"threshold":0.25},"queue":{"weights":{"amber":2.0}},"mood":{"cuts":[0.25]}}"#
    );
    assert_eq!(
        written["demos"].to_json(),
        r#"[{"ticket":"y","urgent":{"noul":0.75},"queue":{"probabilities":{"amber":0.5,"blue":0.5}}}]"#
    );
    let fields = written["signature"].as_map().unwrap()["fields"].to_json();
    assert!(
        fields.contains(r#"{"prefix":"Urgent:","description":"whether somebody waits"}"#),
        "{fields}"
    );
}
