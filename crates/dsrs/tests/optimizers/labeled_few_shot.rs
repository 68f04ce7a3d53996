//! `labeled_few_shot`: demos straight from examples, also for what another optimizer found.

use std::sync::Arc;

use dsrs::lm::{Budget, ScriptedLm};
use dsrs::optimize::{TrialId, Workbench, create_optimizer};
use dsrs::problem::At;

use crate::support::{QA, json, questions, run, task};

/// An LM that knows the answer once it has seen how others were answered.
pub(crate) fn copies_demos() -> Arc<ScriptedLm> {
    Arc::new(ScriptedLm::by(|request| {
        let said: Vec<_> = request.chat.messages().collect();
        let asked = said.last().unwrap().content.split('q').nth(2).unwrap_or_default();
        let number: String = asked.chars().take_while(char::is_ascii_digit).collect();
        let answer = if said.len() > 2 { format!("a{number}") } else { "no idea".to_owned() };
        format!("[[ ## answer ## ]]\n{answer}\n\n[[ ## completed ## ]]")
    }))
}

#[tokio::test]
async fn demos_of_the_trainset_are_measured_once() {
    let lm = copies_demos();
    let task = task(QA, lm.clone(), Budget::default());
    let (report, bench) = run("labeled_few_shot", r#"{"k": 3}"#, task, &questions(40..50)).await;
    let report = report.unwrap();
    assert_eq!((report.best, report.stopped.clone()), (TrialId(1), None));
    let demos = &bench.candidate(TrialId(1)).state.0["qa"].demos;
    assert_eq!(demos.len(), 3);
    let val = report.trials[1].full.unwrap();
    assert_eq!((val.examples, val.mean, val.usage.lm_calls), (20, 1.0, 20));
    assert_eq!(report.held_out_scores(), (vec![0.0; 10], vec![1.0; 10]));
    assert_eq!(report.spent.lm_calls, 10 + 20 + 10);
    assert_eq!(lm.requests().len(), 40);
    assert!(bench.candidate(Workbench::BASE).state.0.is_empty());
}

#[tokio::test]
async fn a_search_continues_from_another_optimizer() {
    let bench = Workbench::new(task(QA, copies_demos(), Budget::default()));
    let brief = bench
        .candidate(Workbench::BASE)
        .with("qa", |state| state.instruction = Some("Be brief.".into()));
    let brief = bench.enter(brief, &[Workbench::BASE], "by hand");
    let config = json(r#"{"k": 2}"#);
    let (_, optimizer) = create_optimizer("labeled_few_shot", Some(&config), &At::Root).unwrap();
    let continued = bench.starting_from(brief);
    let found = optimizer.run(&continued).await.unwrap();
    let tuned = &bench.candidate(found).state.0["qa"];
    assert_eq!((tuned.instruction.as_deref(), tuned.demos.len()), (Some("Be brief."), 2));
    assert_eq!(bench.trials()[found.0].parents, [brief]);
    // Both work on one board.
    assert_eq!((continued.start(), bench.start()), (brief, Workbench::BASE));
    assert_eq!(continued.best().map(|best| best.id), Some(found));
}
