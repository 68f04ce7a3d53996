//! Runs read back and listed.

use dsrs_config::Record;
use dsrs_store::feedback_filter::FeedbackFilter;
use dsrs_store::graph::GraphRef;
use dsrs_store::run::{self, RunFilter, RunRow, RunStatus};
use dsrs_store::run_recorder::recorder;
use dsrs_store::{Db, ListQuery, PoolSettings, Scope, job};
use sqlx::{AssertSqlSafe, Connection, PgConnection};
use uuid::Uuid;

use super::{ann, database, id_at, make, name, run as new_run};
use dsrs_test::test_database;

async fn record(db: &Db, runs: &[RunRow]) {
    let (recorder, writer) = recorder(db.clone(), Record::Ack);
    let writer = tokio::spawn(writer.run());
    for run in runs {
        recorder.record(&ann(), run).await.unwrap();
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

/// The plan of a list of runs by a score, as `store/feedback_filter` writes it.
async fn plan_by_score(owner: &mut PgConnection, graph: &str) -> String {
    let workspace = ann().workspace;
    let statement = format!(
        "explain select runs.id, status
         from (select distinct run_created_at as created_at, run_id as id from run_feedback
               where workspace_id = '{workspace}'{graph} and name is not null and name = 's' and score >= 0.5
               order by run_created_at desc, run_id desc) as feedback
           cross join lateral (select * from runs where id = feedback.id limit 1) as runs
         where workspace_id = '{workspace}' order by feedback.created_at desc, feedback.id desc limit 51"
    );
    let plan: Vec<String> =
        sqlx::query_scalar(AssertSqlSafe(statement)).fetch_all(owner).await.unwrap();
    plan.join("\n")
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_with_a_score_are_listed_by_indexes_alone() {
    let url = test_database().await;
    let db = Db::connect(&url, &PoolSettings::default()).await.unwrap();
    let mut owner = PgConnection::connect(&url).await.unwrap();
    record(&db, &[new_run("a")]).await;
    // As many rows as make indexes worth while: one run in a hundred has a score.
    let fill = "set dsrs.workspace = '*';
        insert into runs (id, workspace_id, graph_id, graph_name, graph_version, state_version, status, created_at,
                          inputs, usage, nodes, trace, created_by)
        select first_uuid(at), workspace_id, graph_id, graph_name, graph_version, state_version, status, at,
               inputs, usage, nodes, trace, created_by
        from runs, generate_series(1, 20000) as n, lateral (select created_at + n * interval '1 ms' as at) times;
        insert into run_feedback (id, run_id, workspace_id, graph_id, graph_name, graph_version, state_version,
                                  run_created_at, source, name, score, created_at, updated_at, created_by)
        select gen_random_uuid(), id, workspace_id, graph_id, graph_name, graph_version, state_version, created_at,
               'user', (array['s', 't', 'u'])[1 + n % 3], 0.7, created_at, created_at, created_by
        from (select *, row_number() over () as n from runs) numbered where n % 33 = 0;
        analyze runs, run_feedback;
        set enable_seqscan = off; set enable_sort = off";
    sqlx::raw_sql(fill).execute(&mut owner).await.unwrap();
    for (graph, index) in [("", "scores"), (" and graph_name = 'a'", "of_graph")] {
        let plan = plan_by_score(&mut owner, graph).await;
        assert!(!plan.contains("Seq Scan") && !plan.contains("Sort  ("), "{plan}");
        assert!(plan.contains("name = 's'") && plan.contains("Index"), "{index}: {plan}");
    }
    let score =
        FeedbackFilter { score: Some("s".to_owned()), min: Some(0.5), ..FeedbackFilter::default() };
    let filter = RunFilter { feedback: Some(score), ..RunFilter::default() };
    let page = run::list(&ann(), &db, &filter, ListQuery::new(None, 50)).await.unwrap();
    assert!(page.items.len() == 50 && page.next.is_some());
}
