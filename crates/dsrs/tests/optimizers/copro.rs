//! `copro`: what the LM is shown, and that its instructions make programs better.

use std::sync::Arc;

use crate::support::{QA, keeps_the_rules, run, task};
use dsrs::lm::{Budget, LmErrorKind, ScriptedAnswer, ScriptedLm};

#[tokio::test]
async fn better_instructions_for_triage_are_found() {
    let config = r#"{"breadth": 5, "depth": 2}"#;
    keeps_the_rules("copro", config, "triage", 1_000, 0.05).await;
}

#[tokio::test]
async fn instructions_of_both_nodes_of_a_chain_improve() {
    let config = r#"{"breadth": 5, "depth": 2}"#;
    keeps_the_rules("copro", config, "orders", 3_000, 0.08).await;
}

/// An LM that writes instructions, each of its own, and answers by the last that it wrote.
fn writes(script: fn(usize) -> ScriptedAnswer) -> Arc<ScriptedLm> {
    let written = std::sync::atomic::AtomicUsize::new(0);
    Arc::new(ScriptedLm::by(move |request| {
        let said: String = request.chat.messages().map(|said| said.content.to_string()).collect();
        if said.contains("new_instruction") {
            return script(written.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
        }
        let answer = if said.contains("Say a20.") { "a20" } else { "no idea" };
        format!("[[ ## answer ## ]]\n{answer}\n\n[[ ## completed ## ]]").into()
    }))
}

#[tokio::test]
async fn the_proposer_sees_the_program_and_the_tried_instructions() {
    let lm = writes(|number| {
        let text = ["Say a20.", "Say nothing.", "Say it."][number % 3];
        format!("[[ ## new_instruction ## ]]\n{text}\n\n[[ ## completed ## ]]").into()
    });
    let task = task(QA, lm.clone(), Budget::default());
    let (report, bench) = run("copro", r#"{"breadth": 3, "depth": 2}"#, task, &[]).await;
    let best = report.unwrap().best;
    assert_eq!(bench.candidate(best).state.0["qa"].instruction.as_deref(), Some("Say a20."));
    let requests = lm.requests();
    let mut climbs = requests.iter().filter(|request| {
        request.chat.messages().any(|said| said.content.contains("from 0 to 1, best last"))
    });
    let shown = climbs.next_back().unwrap().chat.turns[0].content.clone();
    let places: Vec<_> = ["Say nothing.", "Score 0.050:\nSay a20."]
        .iter()
        .map(|text| shown.find(text).unwrap_or_else(|| panic!("{text} in {shown}")))
        .collect();
    assert!(places[0] < places[1], "{shown}");
    assert!(shown.contains("qa: inputs `question` (str); outputs `answer` (str)"), "{shown}");
}

#[tokio::test]
async fn without_a_proposal_the_optimization_has_failed() {
    let lm = writes(|_| ScriptedAnswer::fail(LmErrorKind::Refused, "not today"));
    let task = task(QA, lm, Budget::default());
    let (report, _) = run("copro", "{}", task, &[]).await;
    let why = "all 29 requests for proposals failed, the last with `lm_error`: not today";
    assert_eq!(report.unwrap_err().to_string(), why);
}
