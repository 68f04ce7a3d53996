//! Row-level security: a session sees and writes only the workspace that its setting names, whatever a
//! statement leaves out.

use dsrs_store::job::{self, Lease};
use dsrs_store::run::{RunRow, RunStatus};
use dsrs_store::run_event;
use dsrs_store::{Db, PoolSettings, Scope, background_run, group_writer};
use sqlx::{AssertSqlSafe, Connection, PgConnection};
use uuid::Uuid;

use super::{ann, make, run, tick};
use dsrs_test::{empty_database, test_database};

/// Tables that belong to no workspace.
const EXCEPTIONS: [&str; 2] = ["_sqlx_migrations", "installation"];

const OURS: Uuid = Uuid::from_u128(0xa);
const THEIRS: Uuid = Uuid::from_u128(0xb);

/// A session of the server, as `crates/dsrs-store/src/pool.rs` prepares it.
async fn session(url: &str) -> PgConnection {
    let mut session = PgConnection::connect(url).await.unwrap();
    execute(&mut session, "set role dsrs_app").await.unwrap();
    session
}

async fn execute(session: &mut PgConnection, sql: &str) -> Result<u64, sqlx::Error> {
    Ok(sqlx::raw_sql(AssertSqlSafe(sql)).execute(session).await?.rows_affected())
}

async fn count(session: &mut PgConnection, table: &str) -> i64 {
    let sql = format!("select count(*) from {table}");
    sqlx::query_scalar(AssertSqlSafe(sql)).fetch_one(session).await.unwrap()
}

/// A table and its column that names the workspace. Partitions take only some rows, so they are not among them.
struct Table {
    name: String,
    workspace: &'static str,
    /// The columns that an insert must name, and a value for each.
    columns: Vec<(String, String)>,
}

impl Table {
    async fn all(session: &mut PgConnection) -> Vec<Self> {
        let names: Vec<String> = sqlx::query_scalar(
            "select relname::text from pg_class
             where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')
               and not relispartition order by relname",
        )
        .fetch_all(&mut *session)
        .await
        .unwrap();
        let mut tables = Vec::new();
        for name in names.into_iter().filter(|name| !EXCEPTIONS.contains(&&**name)) {
            let columns = columns(session, &name).await;
            let workspace = if name == "workspaces" { "id" } else { "workspace_id" };
            tables.push(Self { name, workspace, columns });
        }
        tables
    }

    /// Inserts a row of a workspace. `mark` distinguishes it from those of others.
    fn insert(&self, workspace: Uuid, mark: u32) -> String {
        let columns = self.columns.iter().filter(|(name, _)| name != self.workspace);
        let (names, values): (Vec<_>, Vec<_>) = columns.cloned().unzip();
        let names = [vec![self.workspace.to_owned()], names].concat().join(", ");
        let values = [vec![format!("'{workspace}'")], values].concat().join(", ");
        format!(
            "insert into {} ({names}) values ({})",
            self.name,
            values.replace('%', &mark.to_string())
        )
    }
}

/// The required columns of a table, each with a value that its checks accept.
async fn columns(session: &mut PgConnection, table: &str) -> Vec<(String, String)> {
    let columns: Vec<(String, String)> = sqlx::query_as(
        "select column_name::text, udt_name::text from information_schema.columns
         where table_schema = 'public' and table_name = $1 and is_nullable = 'NO'
           and column_default is null and is_identity = 'NO' order by ordinal_position",
    )
    .bind(table)
    .fetch_all(session)
    .await
    .unwrap();
    let value = |name: &str, kind: &str| match (name, kind) {
        ("status", _) => "'succeeded'".to_owned(),
        ("kind" | "work", _) => "'run'".to_owned(),
        ("dimension", "text") => "'whole'".to_owned(),
        (_, "uuid") => "gen_random_uuid()".to_owned(),
        (_, "timestamptz" | "date") => "now()".to_owned(),
        (_, "json" | "jsonb") => "'{}'".to_owned(),
        (_, "bool") => "false".to_owned(),
        (_, "bytea") => "sha256('%')".to_owned(),
        (_, "text") => "'text %'".to_owned(),
        (_, kind) if kind.starts_with('_') => "'{}'".to_owned(),
        _ => "1".to_owned(),
    };
    let columns = columns.into_iter();
    columns.map(|(name, kind)| (name.clone(), value(&name, &kind))).collect()
}

/// A database in which every table has a row of each of two workspaces, and the tables.
async fn filled_database() -> (String, Vec<Table>) {
    let url = test_database().await;
    let mut owner = PgConnection::connect(&url).await.unwrap();
    execute(&mut owner, "delete from workspaces").await.unwrap();
    // Foreign keys are not what is tested.
    execute(&mut owner, "set session_replication_role = replica").await.unwrap();
    let tables = Table::all(&mut owner).await;
    assert!(tables.len() > 20, "{}", tables.len());
    for table in &tables {
        for (workspace, mark) in [(OURS, 1), (THEIRS, 2)] {
            execute(&mut owner, &table.insert(workspace, mark)).await.unwrap();
        }
    }
    (url, tables)
}

/// The policies of a table for all roles, without white space: kind, commands, and the two conditions.
async fn policies_of(session: &mut PgConnection, table: &str) -> Vec<[String; 4]> {
    let policies: Vec<Vec<String>> = sqlx::query_scalar(
        "select array[permissive, cmd, regexp_replace(qual, '\\s', '', 'g'),
                      regexp_replace(with_check, '\\s', '', 'g')] from pg_policies
         where schemaname = 'public' and tablename = $1 and roles = '{public}'",
    )
    .bind(table)
    .fetch_all(session)
    .await
    .unwrap();
    policies.into_iter().map(|policy| policy.try_into().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_table_has_the_policy() {
    let url = test_database().await;
    let mut session = PgConnection::connect(&url).await.unwrap();
    let tables: Vec<(String, bool, bool)> = sqlx::query_as(
        "select relname::text, relrowsecurity, relforcerowsecurity from pg_class
         where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')",
    )
    .fetch_all(&mut session)
    .await
    .unwrap();
    for (table, enabled, forced) in tables {
        let policies = policies_of(&mut session, &table).await;
        if EXCEPTIONS.contains(&&*table) {
            assert_eq!((enabled, policies.len()), (false, 0), "{table}");
            continue;
        }
        assert!(
            enabled && forced,
            "{table}: its migration must call isolate_workspaces('{table}')"
        );
        let column = if table == "workspaces" { "id" } else { "workspace_id" };
        let setting = "current_setting('dsrs.workspace'::text, true)";
        let visible = format!(
            "(CASE WHEN (({setting} = ({column})::text) OR ({setting} = '*'::text)) THEN true \
             ELSE NULL::boolean END IS NOT NULL)"
        );
        let rule = visible.split_whitespace().collect::<String>();
        let expected = ["PERMISSIVE".to_owned(), "ALL".to_owned(), rule.clone(), rule];
        assert_eq!(policies, [expected], "{table}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_sees_the_rows_of_its_workspace_only_and_none_without_one() {
    let (url, tables) = filled_database().await;
    let mut session = session(&url).await;
    for table in &tables {
        let name = &table.name;
        execute(&mut session, "reset dsrs.workspace").await.unwrap();
        assert_eq!(count(&mut session, name).await, 0, "{name}, with nothing set");
        for (setting, expected) in [
            (String::new(), 0),
            ("other".to_owned(), 0),
            (Uuid::from_u128(0xc).to_string(), 0),
            (THEIRS.to_string(), 1),
            ("*".to_owned(), 2),
        ] {
            execute(&mut session, &format!("set dsrs.workspace = '{setting}'")).await.unwrap();
            assert_eq!(count(&mut session, name).await, expected, "{name}, with {setting:?}");
        }
        execute(&mut session, &format!("set dsrs.workspace = '{THEIRS}'")).await.unwrap();
        let ours = format!("{name} where {} = '{OURS}'", table.workspace);
        assert_eq!(count(&mut session, &ours).await, 0, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_writes_no_rows_of_another_workspace() {
    let (url, tables) = filled_database().await;
    let mut session = session(&url).await;
    execute(&mut session, &format!("set dsrs.workspace = '{THEIRS}'")).await.unwrap();
    for table in &tables {
        let (name, column) = (&table.name, table.workspace);
        let ours = format!("where {column} = '{OURS}'");
        let touched = format!("update {name} set {column} = {column} {ours}");
        assert_eq!(execute(&mut session, &touched).await.unwrap(), 0, "{name}");
        let removed = format!("delete from {name} {ours}");
        assert_eq!(execute(&mut session, &removed).await.unwrap(), 0, "{name}");
        let given_away = format!("update {name} set {column} = '{OURS}'");
        for refused in [table.insert(OURS, 3), given_away] {
            let error = execute(&mut session, &refused).await.unwrap_err();
            let code = error.as_database_error().and_then(|error| error.code().map(String::from));
            assert_eq!(code.as_deref(), Some("42501"), "{refused}: {error}");
            assert!(error.to_string().contains("row-level security"), "{refused}: {error}");
        }
    }
    execute(&mut session, "set dsrs.workspace = '*'").await.unwrap();
    for table in &tables {
        assert_eq!(count(&mut session, &table.name).await, 2, "{}", table.name);
    }
}

/// These functions name no workspace in their statements.
#[tokio::test(flavor = "multi_thread")]
async fn a_statement_that_names_no_workspace_finds_nothing_of_another() {
    let url = test_database().await;
    // All statements share a connection, which has seen the other workspace just before.
    let settings = PoolSettings { max_connections: 1, ..PoolSettings::default() };
    let db = Db::connect(&url, &settings).await.unwrap();
    assert!(db.is_isolated().await.unwrap());
    let eve = Scope { workspace: Uuid::now_v7(), actor: "eve".into() };
    let row = RunRow { status: RunStatus::Queued, started_at: None, ..run("guarded") };
    background_run::accept(&ann(), &db, &row, "{}", &super::COMMIT).await.unwrap();
    run_event::count(&ann(), &db, row.id, 7, tick()).await.unwrap();
    assert_eq!(run_event::newest(&ann(), &db, row.id).await.unwrap(), Some(7));
    assert_eq!(run_event::newest(&eve, &db, row.id).await.unwrap(), None);

    let holder = Uuid::now_v7();
    let foreign = Lease { job: row.id, holder, workspace: eve.workspace };
    assert!(job::claim_by_id(&db, foreign, super::HOUR).await.unwrap().is_none());
    let own = Lease { workspace: ann().workspace, ..foreign };
    assert!(job::claim_by_id(&db, own, super::HOUR).await.unwrap().is_some());
    assert!(!group_writer::begin(&db, background_run::JOB, foreign, tick()).await.unwrap());
    assert!(!job::requeue(&db, foreign).await.unwrap());
    assert!(group_writer::begin(&db, background_run::JOB, own, tick()).await.unwrap());
    assert!(job::requeue(&db, own).await.unwrap());
    assert_eq!(
        job::claim(&db, &[background_run::JOB], &[holder], &[], super::HOUR).await.unwrap().len(),
        1
    );
}

/// The URL of an empty database that belongs to a new role, and the role.
async fn database_of(role: &str, attributes: &str) -> String {
    let url = empty_database().await;
    let mut superuser = PgConnection::connect(&url).await.unwrap();
    let create = format!("create role {role} login {attributes}");
    execute(&mut superuser, &create).await.unwrap();
    execute(&mut superuser, &format!("alter schema public owner to {role}")).await.unwrap();
    superuser.close().await.unwrap();
    url.replacen("postgres://dsrs@", &format!("postgres://{role}@"), 1)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_policies_hold_for_the_owner_of_the_tables() {
    let url = database_of("plain_owner", "").await;
    let db = Db::connect(&url, &PoolSettings::default()).await.unwrap();
    db.migrate().await.unwrap();
    assert!(db.is_isolated().await.unwrap());
    make(&db, "first").await.unwrap();
    let mut owner = PgConnection::connect(&url).await.unwrap();
    assert_eq!(count(&mut owner, "graphs").await, 0, "nothing is set");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_role_that_ignores_policies_changes_to_one_that_does_not_if_it_may() {
    for (role, attributes, isolated) in [
        ("bypass_alone", "bypassrls", false),
        ("bypass_creator", "bypassrls createrole in role dsrs_app", true),
        ("another_superuser", "superuser", true),
    ] {
        // The role of the sessions exists before `in role` names it.
        drop(test_database().await);
        let url = database_of(role, attributes).await;
        let db = Db::connect(&url, &PoolSettings::default()).await.unwrap();
        db.migrate().await.unwrap();
        assert_eq!(db.is_isolated().await.unwrap(), isolated, "{role}");
        make(&db, "first").await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_that_start_together_agree_on_the_role() {
    let urls = [empty_database().await, empty_database().await, empty_database().await];
    let servers: Vec<_> = urls
        .into_iter()
        .map(|url| {
            tokio::spawn(async move {
                let db = Db::connect(&url, &PoolSettings::default()).await.unwrap();
                db.migrate().await.unwrap();
                make(&db, "first").await.unwrap();
                assert!(db.is_isolated().await.unwrap());
            })
        })
        .collect();
    for server in servers {
        server.await.unwrap();
    }
}
