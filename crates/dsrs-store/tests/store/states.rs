//! Active versions are found by index look-ups.

use std::path::Path;

use sqlx::{AssertSqlSafe, Connection, PgConnection, Row};

/// The prepared queries for the active version alone, as compiled in.
fn queries() -> Vec<String> {
    let prepared = Path::new(env!("CARGO_MANIFEST_DIR")).join(".sqlx");
    let files = std::fs::read_dir(prepared).unwrap().map(|file| file.unwrap().path());
    let queries = files.map(|file| {
        let text = std::fs::read_to_string(file).unwrap();
        let query: serde_json::Value = serde_json::from_str(&text).unwrap();
        query["query"].as_str().unwrap().to_owned()
    });
    queries
        .filter(|query| query.starts_with("select g.id, f.state_version from graphs g"))
        .collect()
}

/// Many graphs, each with several versions.
const GRAPHS: &str = "
    insert into graphs (id, workspace_id, name, version, state_version, created_at, created_by)
        select gen_random_uuid(), w.id, 'g' || n, 3, 3, now(), 'ann'
        from generate_series(1, 5000) n, workspaces w;
    insert into graph_versions (graph_id, version, workspace_id, format, definition, content_hash,
                                created_at, created_by)
        select id, n, workspace_id, 1, '{}', '', now(), 'ann' from graphs, generate_series(1, 3) n;
    insert into state_versions (graph_id, version, workspace_id, graph_version, predictors,
                                content_hash, created_at, created_by)
        select graph_id, version, workspace_id, version, '{}', '', now(), 'ann' from graph_versions;
    insert into states_in_force (graph_id, graph_version, workspace_id, state_version)
        select graph_id, version, workspace_id, version from state_versions;
    analyze";

#[tokio::test(flavor = "multi_thread")]
async fn the_active_version_is_found_by_indexes_alone() {
    let url = dsrs_test::test_database().await;
    let mut connection = PgConnection::connect(&url).await.unwrap();
    sqlx::raw_sql(GRAPHS).execute(&mut connection).await.unwrap();
    let queries = queries();
    assert_eq!(queries.len(), 2, "by name and by id: {queries:?}");
    for query in queries {
        let prepare = format!(
            "set plan_cache_mode = force_generic_plan; deallocate all; prepare asked as {query}"
        );
        sqlx::raw_sql(AssertSqlSafe(prepare)).execute(&mut connection).await.unwrap();
        let explain = sqlx::raw_sql("explain (costs off) execute asked (null, null)");
        let lines = explain.fetch_all(&mut connection).await.unwrap();
        let lines: Vec<String> = lines.iter().map(|line| line.get(0)).collect();
        let plan = lines.join("\n");
        for index in [" on graphs g", "using states_in_force_pkey on states_in_force f"] {
            assert!(plan.contains(index), "{query}\n{plan}");
        }
        assert_eq!(plan.matches("Index Scan").count(), 2, "{query}\n{plan}");
        assert!(!plan.contains("Seq Scan"), "{query}\n{plan}");
    }
}
