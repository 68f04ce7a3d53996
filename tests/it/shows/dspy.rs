//! DSPy itself, from PyPI: the server accepts its files, and DSPy loads those of the server. The
//! first run installs it into the user's cache (about 350 MB, a minute); later runs reuse it.
//! Skipped with a message only if PyPI is unreachable.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};

use dsrs_test::{Remote, ServerSetup, test_database};

const VERSION: &str = "3.4.1";

/// Programs of the same predictors as the graphs below: `save DIR`, and `load DIR`.
const PROGRAMS: &str = include_str!("dspy_programs.py");

fn said(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!("{}\n{}", text(&output.stdout), text(&output.stderr))
}

fn run(program: &Path, arguments: &[&str]) -> Result<(), String> {
    let output = Command::new(program).args(arguments).output().map_err(|e| e.to_string())?;
    if output.status.success() { Ok(()) } else { Err(said(&output)) }
}

fn cache() -> PathBuf {
    let set = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let user = set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|home| home.join(".cache")));
    user.unwrap_or_else(std::env::temp_dir).join("dsrs-tests")
}

/// A Python that has DSPy, or nothing where PyPI is out of reach.
fn python() -> Option<PathBuf> {
    let home = cache().join(format!("dspy-{VERSION}"));
    let python = home.join("bin/python");
    if python.exists() {
        return Some(python);
    }
    // Created under another name and renamed, so that it is complete.
    let making = cache().join(format!("dspy-{VERSION}.{}", std::process::id()));
    std::fs::create_dir_all(cache()).unwrap();
    run(Path::new("python3"), &["-m", "venv", making.to_str().unwrap()]).unwrap();
    let own = making.join("bin/python");
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
    let wanted = format!("dspy=={VERSION}");
    if let Err(refused) = run(&own, &[&pip[..], &[&wanted]].concat()) {
        let probe = making.join("probe");
        let probe = ["-m", "pip", "download", "--no-deps", "pip", "-d", probe.to_str().unwrap()];
        let reached = run(&own, &probe).is_ok();
        std::fs::remove_dir_all(&making).unwrap();
        assert!(!reached, "PyPI can be reached, but DSPy cannot be installed: {refused}");
        return None;
    }
    if std::fs::rename(&making, &home).is_err() {
        // Another test process was faster.
        std::fs::remove_dir_all(&making).unwrap();
    }
    Some(python)
}

/// The graph of each program, by the program's name.
fn graphs() -> [(&'static str, Value); 3] {
    let one = |name: &str, strategy: &str| {
        json!({"name": name, "nodes": {
            "ask": {"strategy": strategy, "signature": "question -> answer"}}})
    };
    let two = json!({
        "name": "two",
        "types": {
            "Address": {"class": {"street": "str", "zip": "int"}},
            "Person": {"class": {"name": "str", "address": "Address", "tags": "list[str]"}}
        },
        "nodes": {
            "triage": {"strategy": "predict", "signature":
                "ticket, person: Person -> mood: 'calm' | 'angry', topics: list[str], severity: float"},
            "reply": {"strategy": "chain_of_thought", "signature": "ticket, mood: str -> answer"}
        },
        "edges": [{"from": "triage.mood", "to": "reply.mood"}]
    });
    [
        ("predict", one("predict", "predict")),
        ("reason", one("reason", "chain_of_thought")),
        ("two", two),
    ]
}

/// A state of each graph that DSPy has not seen before.
fn tuned(name: &str) -> Value {
    let person = json!({"name": "Bo", "address": {"street": "b", "zip": 2}, "tags": []});
    match name {
        "predict" => json!({"ask": {"instruction": "Answer at length.", "demos": [
            {"input": {"question": "ours"}, "output": {"answer": "é \"quoted\""}}]}}),
        "reason" => json!({"ask.predict": {"instruction": "Think.", "demos": [
            {"input": {"question": "ours"}, "output": {"reasoning": "c", "answer": "b"}}]}}),
        _ => json!({
            "triage": {"demos": [{"input": {"ticket": "ours", "person": person},
                "output": {"mood": "angry", "topics": ["a", "b"], "severity": 0.5}}]},
            "reply.predict": {"instruction": "Be kind.", "demos": []}
        }),
    }
}

fn read(dir: &Path, name: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(dir.join(name)).unwrap()).unwrap()
}

/// The predictors of a file by path; a lone predictor has no path.
fn predictors(file: &Value) -> Vec<(&str, &Value)> {
    if file["demos"].is_array() {
        return vec![("", file)];
    }
    let members = file.as_object().unwrap().iter();
    members.filter(|(path, _)| *path != "metadata").map(|(p, v)| (p.as_str(), v)).collect()
}

fn at<'f>(file: &'f Value, path: &str) -> &'f Value {
    if path.is_empty() { file } else { &file[path] }
}

/// Demos without what DSPy notes in them for itself.
fn demos(predictor: &Value) -> Vec<Value> {
    let mut demos = predictor["demos"].as_array().unwrap().clone();
    for demo in &mut demos {
        demo.as_object_mut().unwrap().retain(|name, _| name != "augmented");
    }
    demos
}

async fn put_and_read_back(api: &Remote, dir: &Path, name: &str) {
    let (saved, state) = (read(dir, &format!("{name}.json")), format!("/v1/graphs/{name}/state"));
    let put = api.put(&state, json!({"format": "dspy", "state": saved})).await.expect(200).json();
    let ignored = put["ignored"].as_array().unwrap();
    assert!(ignored.contains(&json!("/state/metadata")), "{ignored:?}");
    let found = api.get(&format!("{state}?format=dspy")).await.expect(200).json();
    let expected = predictors(&saved);
    assert!(!expected.is_empty());
    for (path, wanted) in expected {
        let found = at(&found, path);
        let instructions = |of: &Value| of["signature"]["instructions"].clone();
        assert_eq!(instructions(found), instructions(wanted), "{name} {path}");
        assert_eq!(found["demos"], json!(demos(wanted)), "{name} {path}");
        assert!(!demos(wanted).is_empty(), "{name} {path} shows nothing");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn states_round_trip_with_dspy() {
    let Some(python) = python() else {
        eprintln!(
            "\n!!! SKIPPED: PyPI is out of reach, so nothing is shown of DSPy {VERSION} !!!\n"
        );
        return;
    };
    let dir = std::env::temp_dir().join(format!("dsrs-dspy-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let folder = dir.to_str().unwrap();
    run(&python, &["-c", PROGRAMS, "save", folder]).unwrap();

    let database = test_database().await;
    let setup = ServerSetup::new().database(&database).env("OPENAI_BASE_URL", "http://127.0.0.1:9");
    let server = setup.start();
    let api = Remote::new(&server.url);
    for (name, graph) in graphs() {
        api.post("/v1/graphs", graph).await.expect(201);
        put_and_read_back(&api, &dir, name).await;
        let state = format!("/v1/graphs/{name}/state");
        api.put(&state, json!({"predictors": tuned(name)})).await.expect(200);
        let file = api.get(&format!("{state}?format=dspy")).await.expect(200);
        std::fs::write(dir.join(format!("{name}.ours.json")), &file.text).unwrap();
    }

    run(&python, &["-c", PROGRAMS, "load", folder]).unwrap();
    // A program that contains the lone module loads the same file.
    for (name, loaded) in
        [("predict", "predict"), ("reason", "reason"), ("two", "two"), ("predict", "holder")]
    {
        let ours = read(&dir, &format!("{name}.ours.json"));
        let dumped = read(&dir, &format!("{loaded}.dumped.json"));
        for (path, found) in predictors(&dumped) {
            for (member, value) in found.as_object().unwrap() {
                assert_eq!(&at(&ours, path)[member], value, "{loaded} {path} {member}");
            }
            assert!(found["demos"].is_array() && found["signature"].is_object(), "{dumped}");
        }
    }
    std::fs::remove_dir_all(&dir).unwrap();
}
