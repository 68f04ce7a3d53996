//! Two workspaces of one server and a key of each, over HTTP: nothing of one is seen, changed, counted or
//! hinted at by the other.

mod live;
mod operation;
mod stranger;
mod things;
mod work;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Connection, PgConnection};
use uuid::Uuid;

use crate::Api;
use dsrs_test::{Remote, test_database};
use dsrs_test_api::friendly_lm;
use stranger::{Findings, Stranger};
use things::make_things;

/// The workspace of the owner of all things, and that of the stranger.
const OWNER: &str = "zebra-team";
const STRANGER: &str = "ours";

/// The key of the settings, an operator.
const ROOT: [(&str, &str); 1] = [("DSRS_API_KEYS", "root")];

/// A workspace with a key that may do everything in it.
struct Member {
    workspace: Uuid,
    key: String,
}

impl Member {
    /// Creates the workspace and its key.
    async fn join(api: &Api, workspace: &str) -> Self {
        let root = Remote::with_key(&api.url, "root");
        let created = root.post("/v1/workspaces", json!({"name": workspace})).await.expect(201);
        let id = created.json()["id"].as_str().unwrap().parse().unwrap();
        let key = json!({"name": format!("{workspace}-admin"), "scopes": ["admin"], "workspace": workspace});
        let key: Value = root.post("/v1/keys", key).await.expect(201).json();
        Self { workspace: id, key: key["key"].as_str().unwrap().to_owned() }
    }

    fn remote(&self, api: &Api) -> Remote {
        Remote::with_key(&api.url, &self.key)
    }
}

/// A digest of every row of a workspace, by table.
async fn rows_of(database: &str, workspace: Uuid) -> BTreeMap<String, String> {
    let mut superuser = PgConnection::connect(database).await.unwrap();
    let tables: Vec<String> = sqlx::query_scalar(
        "select table_name::text from information_schema.columns
         where table_schema = 'public' and column_name = 'workspace_id' order by 1",
    )
    .fetch_all(&mut superuser)
    .await
    .unwrap();
    let mut digests = BTreeMap::new();
    for table in tables {
        let sql = format!(
            "select count(*) || ' ' || coalesce(md5(string_agg(t::text, '|' order by t::text)), '')
             from {table} t where workspace_id = $1"
        );
        let digest: String = sqlx::query_scalar(AssertSqlSafe(sql))
            .bind(workspace)
            .fetch_one(&mut superuser)
            .await
            .unwrap();
        digests.insert(table, digest);
    }
    digests
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_of_a_workspace_is_seen_or_changed_from_another() {
    let database = test_database().await;
    let lm = || Some(Arc::new(friendly_lm()) as _);
    let api = Api::start(&database, lm(), &ROOT).await;
    let (owner, stranger) = (Member::join(&api, OWNER).await, Member::join(&api, STRANGER).await);
    let things = make_things(&owner.remote(&api)).await;
    api.stop().await;

    // Another process: the owner does nothing from here on.
    let api = Api::start(&database, lm(), &ROOT).await;
    let before = rows_of(&database, owner.workspace).await;
    for table in ["runs", "graphs", "keys", "audit", "idempotency_keys"] {
        assert!(!before[table].starts_with("0 "), "{table} has no row of the owner");
    }
    let remote = stranger.remote(&api);
    let mut stranger =
        Stranger { remote: &remote, things: &things, findings: Findings::default(), tried: 0 };
    stranger.walk().await;
    stranger.make_own().await;
    let (findings, tried) = (stranger.findings.0, stranger.tried);
    assert!(findings.is_empty(), "{} findings:\n{}", findings.len(), findings.join("\n"));
    assert!(tried > 300, "{tried}");
    assert_eq!(rows_of(&database, owner.workspace).await, before);
}
