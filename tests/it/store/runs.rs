//! Runs read back and listed.

use dsrs_server::config::Record;
use dsrs_server::store::graph::GraphRef;
use dsrs_server::store::run::{self, RunFilter, RunRow, RunStatus};
use dsrs_server::store::run_recorder::recorder;
use dsrs_server::store::{Db, ListQuery, Scope, job};
use uuid::Uuid;

use super::{ann, database, id_at, make, name, run as new_run};

async fn record(db: &Db, runs: &[RunRow]) {
    let (recorder, writer) = recorder(db.clone(), Record::Ack);
    let writer = tokio::spawn(writer.run());
    for run in runs {
        recorder.record(&ann(), run.clone()).await.unwrap();
    }
    recorder.close();
    writer.await.unwrap();
}

async fn names(db: &Db, filter: RunFilter) -> Vec<String> {
    let page = run::list(&ann(), db, &filter, ListQuery::new(None, 100)).await.unwrap();
    page.items.into_iter().map(|run| format!("{} {}", run.graph_name, run.status)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_returned_as_recorded() {
    let db = database().await;
    let mut given = new_run("reply");
    given.inputs = "{\"z\" :\"\\u0000\", \"a\":1.50}".into();
    given.error = Some("{\"code\":\"lm_error\"}".into());
    given.created_by = "whatever stands here, the scope counts".into();
    record(&db, std::slice::from_ref(&given)).await;
    let expected = RunRow { created_by: "ann".into(), ..given };
    assert_eq!(job::get::<RunRow>(&ann(), &db, expected.id).await.unwrap(), expected);
    let stranger = Scope { workspace: Uuid::now_v7(), actor: "eve".into() };
    let unseen = job::get::<RunRow>(&stranger, &db, expected.id).await.unwrap_err();
    assert_eq!(unseen.to_string(), format!("no run \"{}\"", expected.id));
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_are_listed_by_graph_status_and_time() {
    let db = database().await;
    let graph = make(&db, "a").await.unwrap();
    let mut runs = [new_run("a"), new_run("b"), new_run("a"), new_run("b")];
    runs[0].graph_id = graph.id;
    runs[2].status = RunStatus::Failed;
    record(&db, &runs).await;
    let all = ["b succeeded", "a failed", "b succeeded", "a succeeded"];
    assert_eq!(names(&db, RunFilter::default()).await, all);
    let of = |graph| RunFilter { graph: Some(graph), ..RunFilter::default() };
    assert_eq!(names(&db, of(name("a"))).await, ["a failed", "a succeeded"]);
    assert_eq!(names(&db, of(GraphRef::Id(graph.id))).await, ["a succeeded"]);
    let stand = |status| RunFilter { status: Some(status), ..RunFilter::default() };
    assert_eq!(names(&db, stand(RunStatus::Failed)).await, ["a failed"]);
    assert_eq!(names(&db, stand(RunStatus::Succeeded)).await.len(), 3);
    let (since, until) = (Some(runs[1].created_at), Some(runs[3].created_at));
    let between = RunFilter { since, until, ..RunFilter::default() };
    assert_eq!(names(&db, between).await, ["a failed", "b succeeded"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_of_one_instant_are_paged_without_gaps_or_repeats() {
    let db = database().await;
    let instant = super::tick();
    let of_instant = || RunRow { id: id_at(instant), created_at: instant, ..new_run("a") };
    let runs: Vec<_> = (0..7).map(|_| of_instant()).collect();
    record(&db, &runs).await;
    let (mut seen, mut cursor) = (Vec::new(), None);
    loop {
        let page =
            run::list(&ann(), &db, &RunFilter::default(), ListQuery::new(cursor, 3)).await.unwrap();
        seen.extend(page.items.into_iter().map(|run| run.id));
        record(&db, &[new_run("late")]).await;
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    let mut expected: Vec<_> = runs.iter().map(|run| run.id).collect();
    expected.sort_unstable_by(|a, b| b.cmp(a));
    assert_eq!(seen, expected);
}
