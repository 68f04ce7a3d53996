//! Tables with partitions: rows are found wherever they are, and a partition goes when its rows are old.

use std::collections::BTreeSet;

use chrono::{DateTime, DurationRound, TimeDelta, Utc};
use dsrs_store::id_time::{first_id, time_of};
use dsrs_store::partition::{
    Partition, PartitionArchive, PartitionedTable, Removal, add_missing_indexes, extend,
    partitions, remove_oldest,
};
use dsrs_store::run::{RunFilter, RunRow, RunStatus};
use dsrs_store::run_archive::{ArchivedFile, EndedRuns, FileShare, files_with};
use dsrs_store::{Db, ListQuery, PoolSettings, StoreError, background_run, job, run};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use sqlx::{AssertSqlSafe, Connection, PgConnection};
use uuid::Uuid;

use super::{ann, begun_to_wait, id_at};
use dsrs_test::test_database;

const DAY: TimeDelta = TimeDelta::days(1);

fn today() -> DateTime<Utc> {
    Utc::now().duration_trunc(DAY).unwrap()
}

/// A database, and a session of its owner.
async fn opened() -> (Db, PgConnection) {
    let url = test_database().await;
    let db = Db::connect(&url, &PoolSettings::default()).await.unwrap();
    (db, PgConnection::connect(&url).await.unwrap())
}

/// Partitions of a day each, for some days until today. What was before is in `runs_before`.
async fn daily_runs(db: &Db, owner: &mut PgConnection, days: i64) {
    let begin = today() - DAY * i32::try_from(days).unwrap();
    let found = partitions(db, PartitionedTable::Runs).await.unwrap();
    for Partition { name, .. } in found {
        let drop = if name == "runs_before" { String::new() } else { format!("drop table {name}") };
        let detach = format!("alter table runs detach partition {name}; {drop}");
        sqlx::raw_sql(AssertSqlSafe(detach)).execute(&mut *owner).await.unwrap();
    }
    let attach = format!(
        "alter table runs attach partition runs_before for values from (minvalue) to ('{}')",
        first_id(begin)
    );
    sqlx::raw_sql(AssertSqlSafe(attach)).execute(&mut *owner).await.unwrap();
    let all = extend(db, PartitionedTable::Runs, begin, today() + DAY, DAY).await;
    assert_eq!(all.unwrap(), usize::try_from(days).unwrap() + 1);
}

fn run_at(created_at: DateTime<Utc>, status: RunStatus) -> RunRow {
    let finished_at = status.has_ended().then_some(created_at);
    let id = id_at(created_at);
    RunRow { id, created_at, finished_at, status, ..super::run("q") }
}

async fn store(db: &Db, row: &RunRow) {
    background_run::accept(&ann(), db, row, "{}", &super::COMMIT).await.unwrap();
}

/// Stores a run that has ended.
async fn store_ended(db: &Db, owner: &mut PgConnection, created_at: DateTime<Utc>) -> Uuid {
    let row = run_at(created_at, RunStatus::Succeeded);
    store(db, &row).await;
    let end = format!(
        "update runs set finished_at = created_at where id = '{id}'; delete from jobs where id = '{id}'",
        id = row.id
    );
    sqlx::raw_sql(AssertSqlSafe(end)).execute(owner).await.unwrap();
    row.id
}

async fn partition_of(owner: &mut PgConnection, run: Uuid) -> String {
    let place = sqlx::query_scalar("select tableoid::regclass::text from runs where id = $1");
    place.bind(run).fetch_one(owner).await.unwrap()
}

async fn names(db: &Db) -> Vec<String> {
    let found = partitions(db, PartitionedTable::Runs).await.unwrap();
    found.into_iter().map(|partition| partition.name).collect()
}

async fn is_found(db: &Db, run: Uuid) -> bool {
    match job::get::<RunRow>(&ann(), db, run).await {
        Ok(_) => true,
        Err(StoreError::NotFound { .. }) => false,
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_large_table_has_partitions_without_gaps() {
    let (db, _) = opened().await;
    for table in PartitionedTable::ALL {
        let found = partitions(&db, table).await.unwrap();
        assert_eq!(found[0].first, None, "{table:?}");
        for pair in found.windows(2) {
            assert_eq!(pair[1].first, Some(pair[0].end), "{table:?}");
        }
        assert!(time_of(found.last().unwrap().end) > Utc::now() + DAY, "{table:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_with_rows_becomes_its_own_first_partition() {
    let (_, mut owner) = opened().await;
    let create = "create table visits (id uuid primary key, workspace_id uuid not null);
        create index visits_newest on visits (workspace_id, id desc);
        insert into visits select first_uuid(now() - n * interval '9 days'), gen_random_uuid()
        from generate_series(0, 4) n;
        select isolate_workspaces('visits'), partition_by_time('visits', 'id'), partition_by_time('visits', 'id');
        insert into visits select first_uuid(now() + n * interval '20 days'), gen_random_uuid()
        from generate_series(1, 2) n";
    sqlx::raw_sql(create).execute(&mut owner).await.unwrap();
    let count = "select count(*) from visits group by tableoid order by tableoid";
    let counts: Vec<i64> = sqlx::query_scalar(count).fetch_all(&mut owner).await.unwrap();
    assert_eq!(counts, [5, 1, 1], "what it had, the next 28 days, and the rest");
    let secured =
        "select count(*) from pg_class where relname like 'visits%' and relforcerowsecurity";
    let secured: i64 = sqlx::query_scalar(secured).fetch_one(&mut owner).await.unwrap();
    assert_eq!(secured, 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn partitions_are_added_once_however_many_servers_do() {
    let (db, mut owner) = opened().await;
    daily_runs(&db, &mut owner, 2).await;
    let before = names(&db).await.len();
    let servers: Vec<_> = (0..4)
        .map(|_| {
            let db = db.clone();
            let until = today() + DAY * 30;
            tokio::spawn(async move {
                extend(&db, PartitionedTable::Runs, today(), until, DAY * 7).await.unwrap()
            })
        })
        .collect();
    let mut added = 0;
    for server in servers {
        added += server.await.unwrap();
    }
    assert_eq!(added, 5, "29 days by weeks");
    let names = names(&db).await;
    assert_eq!(names.len(), before + 5);
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
}

/// As after an upgrade: the index is younger than the partitions, and the only one.
async fn without_index_of_durations(owner: &mut PgConnection) {
    let statement = "drop index runs_durations, runs_problems;
        create index runs_durations on only runs (workspace_id, duration_ms) where duration_ms is not null";
    sqlx::raw_sql(statement).execute(owner).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn older_partitions_get_a_later_index_once_however_many_servers_build_it() {
    let (db, mut owner) = opened().await;
    without_index_of_durations(&mut owner).await;
    // A server was stopped while it built one: what it left is not the index.
    let left = "create index runs_before_durations on runs_before (created_by)";
    sqlx::raw_sql(left).execute(&mut owner).await.unwrap();
    let servers: Vec<_> = (0..3)
        .map(|_| {
            let db = db.clone();
            tokio::spawn(async move { add_missing_indexes(&db, PartitionedTable::Runs).await })
        })
        .collect();
    let mut added = 0;
    for server in servers {
        added += server.await.unwrap().unwrap();
    }
    let indexed = "select count(*) from pg_inherits where inhparent = 'runs_durations'::regclass";
    let indexed: i64 = sqlx::query_scalar(indexed).fetch_one(&mut owner).await.unwrap();
    assert_eq!(added, usize::try_from(indexed).unwrap());
    // The one for ids without a partition has it, too.
    assert_eq!(added, names(&db).await.len() + 1);
    let valid = "select indisvalid from pg_index where indexrelid = 'runs_durations'::regclass";
    assert!(sqlx::query_scalar::<_, bool>(valid).fetch_one(&mut owner).await.unwrap());
    let built = "select pg_get_indexdef('runs_before_durations'::regclass)";
    let built: String = sqlx::query_scalar(built).fetch_one(&mut owner).await.unwrap();
    assert!(built.contains("duration_ms"), "{built}");
    extend(&db, PartitionedTable::Runs, today(), today() + DAY * 40, DAY * 7).await.unwrap();
    let again = add_missing_indexes(&db, PartitionedTable::Runs).await.unwrap();
    assert_eq!(again, 0, "a partition has the index from its beginning");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_that_was_built_but_not_attached_is_not_built_again_and_a_reader_delays_only_it() {
    let (db, mut owner) = opened().await;
    without_index_of_durations(&mut owner).await;
    let built = "create index runs_before_durations on runs_before (workspace_id, duration_ms) where duration_ms is not null";
    sqlx::raw_sql(built).execute(&mut owner).await.unwrap();
    let id = "select 'runs_before_durations'::regclass::oid::int8";
    let before: i64 = sqlx::query_scalar(id).fetch_one(&mut owner).await.unwrap();
    // A reader that stays in its transaction.
    sqlx::raw_sql("begin; select count(*) from runs").execute(&mut owner).await.unwrap();
    let adding = tokio::spawn({
        let db = db.clone();
        async move { add_missing_indexes(&db, PartitionedTable::Runs).await }
    });
    begun_to_wait(&mut owner, 1).await;
    assert!(!adding.is_finished(), "it waits for the reader");
    store(&db, &run_at(Utc::now(), RunStatus::Queued)).await;
    sqlx::raw_sql("rollback").execute(&mut owner).await.unwrap();
    assert!(adding.await.unwrap().unwrap() > 1);
    let after: i64 = sqlx::query_scalar(id).fetch_one(&mut owner).await.unwrap();
    assert_eq!(after, before);
}

/// The plan of a list of runs with this condition, as `store/run` writes it.
async fn plan_of_runs(owner: &mut PgConnection, condition: &str) -> String {
    let sql = format!(
        "explain select id from runs where workspace_id = '{}' and {condition}
         order by created_at desc, id desc limit 51",
        ann().workspace
    );
    let plan: Vec<String> = sqlx::query_scalar(AssertSqlSafe(sql)).fetch_all(owner).await.unwrap();
    plan.join("\n")
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_and_fast_runs_are_found_by_their_index() {
    let (db, mut owner) = opened().await;
    without_index_of_durations(&mut owner).await;
    store_ended(&db, &mut owner, Utc::now()).await;
    let fill = "set dsrs.workspace = '*';
        insert into runs (id, workspace_id, graph_id, graph_name, graph_version, state_version, status, created_at,
                          duration_ms, inputs, usage, nodes, trace, created_by)
        select first_uuid(created_at + n * interval '1 ms'), workspace_id, graph_id, graph_name, graph_version,
               state_version, status, created_at + n * interval '1 ms', n % 20000, inputs, usage, nodes, trace, created_by
        from runs, generate_series(1, 40000) as n;
        analyze runs";
    sqlx::raw_sql(fill).execute(&mut owner).await.unwrap();
    let durations =
        ["duration_ms >= 19900", "duration_ms <= 100", "duration_ms >= 40 and duration_ms <= 50"];
    for duration in durations {
        let before = plan_of_runs(&mut owner, duration).await;
        assert!(!before.contains("_duration"), "{before}");
    }
    add_missing_indexes(&db, PartitionedTable::Runs).await.unwrap();
    for duration in durations {
        let after = plan_of_runs(&mut owner, duration).await;
        assert!(after.contains("_duration"), "{after}");
    }
    let filter = RunFilter { min_duration: Some(19_900), ..RunFilter::default() };
    let page = run::list(&ann(), &db, &filter, ListQuery { limit: 5, after: None }).await.unwrap();
    let slow: Vec<_> = page.items.iter().map(|run| run.duration_ms).collect();
    assert_eq!(slow, [39_999, 39_998, 39_997, 39_996, 39_995].map(|n| Some(n % 20_000)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_of_problems_is_searched_in_the_runs_that_have_one() {
    let (db, mut owner) = opened().await;
    add_missing_indexes(&db, PartitionedTable::Runs).await.unwrap();
    store_ended(&db, &mut owner, Utc::now()).await;
    let fill = "set dsrs.workspace = '*';
        insert into runs (id, workspace_id, graph_id, graph_name, graph_version, state_version, status, created_at,
                          duration_ms, inputs, error, usage, nodes, trace, created_by)
        select first_uuid(created_at + n * interval '1 ms'), workspace_id, graph_id, graph_name, graph_version,
               state_version, case when n % 100 = 0 then 'failed' else 'succeeded' end,
               created_at + n * interval '1 ms', 1, inputs,
               case when n % 100 = 0 then json_build_object('detail', 'the model is gone: ' || n) end,
               usage, nodes, trace, created_by
        from runs, generate_series(1, 20000) as n;
        analyze runs";
    sqlx::raw_sql(fill).execute(&mut owner).await.unwrap();
    let condition = "error is not null and strpos(lower(error::text), lower('GONE: 200')) > 0";
    let plan = plan_of_runs(&mut owner, condition).await;
    assert!(plan.contains("_problems"), "{plan}");
    let problem = Some("GONE: 200".to_owned());
    let filter = RunFilter { problem, ..RunFilter::default() };
    let page = run::list(&ann(), &db, &filter, ListQuery { limit: 9, after: None }).await.unwrap();
    assert_eq!(page.items.len(), 3, "200, 2000 and 20000");
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_time_without_servers_one_partition_covers_that_time() {
    let (db, mut owner) = opened().await;
    daily_runs(&db, &mut owner, 2).await;
    let later = today() + DAY * 100;
    assert_eq!(
        extend(&db, PartitionedTable::Runs, later, later + DAY * 3, DAY).await.unwrap(),
        4,
        "the time without servers, and three days"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_without_a_partition_is_found_and_moves_to_the_one_that_is_added() {
    let (db, mut owner) = opened().await;
    let early = run_at(today() + DAY * 200, RunStatus::Queued);
    store(&db, &early).await;
    assert_eq!(partition_of(&mut owner, early.id).await, "runs_rest");
    assert!(is_found(&db, early.id).await);
    extend(&db, PartitionedTable::Runs, Utc::now(), today() + DAY * 201, DAY * 28).await.unwrap();
    let place = partition_of(&mut owner, early.id).await;
    assert!(place.starts_with("runs_2"), "{place}");
    assert!(is_found(&db, early.id).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_partition_goes_when_its_rows_are_old_and_what_has_not_ended_outlives_it() {
    let (db, mut owner) = opened().await;
    daily_runs(&db, &mut owner, 5).await;
    let noon = |days| today() - DAY * days + TimeDelta::hours(12);
    let mut ended = Vec::new();
    for days in [9, 5, 4, 3] {
        ended.push(store_ended(&db, &mut owner, noon(days)).await);
    }
    let waiting = run_at(noon(5), RunStatus::Waiting);
    let queued = run_at(noon(8), RunStatus::Queued);
    store(&db, &waiting).await;
    store(&db, &queued).await;
    // It was created long ago and has ended since.
    let late = store_ended(&db, &mut owner, noon(4)).await;
    let end = format!("update runs set finished_at = now() where id = '{late}'");
    sqlx::raw_sql(AssertSqlSafe(end)).execute(&mut owner).await.unwrap();

    let before = noon(3);
    let mut removed = Vec::new();
    loop {
        match remove_oldest(&db, PartitionedTable::Runs, before, None).await.unwrap() {
            Removal::Removed { survivors, .. } => removed.push(survivors),
            other => break assert_eq!(other, Removal::Young),
        }
    }
    assert_eq!(removed, [1, 2, 3], "those that outlive it, with earlier ones");
    let left = names(&db).await;
    assert_eq!(left[0], "runs_old");
    assert_eq!(left.len(), 5, "the partition of three days ago is young: {left:?}");
    for (run, stays) in ended.iter().zip([false, false, false, true]) {
        assert_eq!(is_found(&db, *run).await, stays);
    }
    for run in [waiting.id, queued.id, late] {
        assert_eq!(partition_of(&mut owner, run).await, "runs_old");
        assert!(is_found(&db, run).await);
    }
    let page = run::list(&ann(), &db, &RunFilter::default(), ListQuery::new(None, 10)).await;
    let listed: Vec<Uuid> = page.unwrap().items.iter().map(|row| row.id).collect();
    assert_eq!(listed, [ended[3], late, waiting.id, queued.id]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_partition_stays_while_much_of_it_has_not_ended() {
    let (db, mut owner) = opened().await;
    daily_runs(&db, &mut owner, 3).await;
    let first = run_at(today() - DAY * 3, RunStatus::Queued);
    store(&db, &first).await;
    let copies = format!(
        "insert into runs (id, workspace_id, graph_id, graph_name, graph_version, state_version, status,
                           created_at, inputs, usage, nodes, trace, created_by)
         select overlay(id::text placing lpad(to_hex(n), 12, '0') from 25)::uuid, workspace_id, graph_id,
                graph_name, graph_version, state_version, status, created_at, inputs, usage, nodes, trace,
                created_by
         from runs, generate_series(1, 10001) n where id = '{}'",
        first.id
    );
    sqlx::raw_sql(AssertSqlSafe(copies)).execute(&mut owner).await.unwrap();
    let removed = remove_oldest(&db, PartitionedTable::Runs, Utc::now(), None).await.unwrap();
    assert!(matches!(removed, Removal::Removed { survivors: 0, .. }), "runs_before: {removed:?}");
    let stays = remove_oldest(&db, PartitionedTable::Runs, Utc::now(), None).await.unwrap();
    assert!(matches!(&stays, Removal::InUse { partition } if partition.starts_with("runs_2")));
    assert!(is_found(&db, first.id).await);
}

/// Stores the runs of a partition in one file, except some, and meanwhile executes a statement.
struct Archive {
    db: Db,
    url: String,
    missing: i64,
    meanwhile: String,
}

impl PartitionArchive for Archive {
    fn store<'a>(
        &'a self,
        _: &'a str,
        runs: EndedRuns,
    ) -> BoxFuture<'a, Result<Vec<ArchivedFile>, StoreError>> {
        async move {
            let found = runs.page(&self.db, None).await?;
            let mut owner = PgConnection::connect(&self.url).await.unwrap();
            sqlx::raw_sql(AssertSqlSafe(&*self.meanwhile)).execute(&mut owner).await.unwrap();
            let [first, .., last] = found.as_slice() else { return Ok(Vec::new()) };
            let share = FileShare {
                workspace: first.workspace_id,
                first_id: first.run.id,
                last_id: last.run.id,
                rows: i64::try_from(found.len()).unwrap() - self.missing,
            };
            let (name, created_at) = (Uuid::now_v7().to_string(), Utc::now());
            Ok(vec![ArchivedFile { name, shares: vec![share], bytes: 1, created_at }])
        }
        .boxed()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_partition_is_removed_once_the_archive_has_all_that_is_removed_with_it() {
    let url = test_database().await;
    let db = Db::connect(&url, &PoolSettings::default()).await.unwrap();
    let mut owner = PgConnection::connect(&url).await.unwrap();
    daily_runs(&db, &mut owner, 3).await;
    let mut ended = Vec::new();
    for hours in [1, 2, 3] {
        let at = today() - DAY * 3 + TimeDelta::hours(hours);
        ended.push(store_ended(&db, &mut owner, at).await);
    }
    remove_oldest(&db, PartitionedTable::Runs, Utc::now(), None).await.unwrap();
    let archive = |missing, meanwhile: &str| {
        let (db, url, meanwhile) = (db.clone(), url.clone(), meanwhile.to_owned());
        Archive { db, url, missing, meanwhile }
    };
    let remove = async |archive: Archive| {
        remove_oldest(&db, PartitionedTable::Runs, Utc::now(), Some(&archive)).await
    };
    let incomplete = remove(archive(1, "")).await.unwrap_err();
    assert!(incomplete.cause().contains("while it was archived"), "{}", incomplete.cause());
    // Another server may change partitions from now on.
    let lost = "select pg_terminate_backend(pid) from pg_locks
                where locktype = 'advisory' and pid <> pg_backend_pid()
                  and database = (select oid from pg_database where datname = current_database())";
    remove(archive(0, lost)).await.unwrap_err();
    for run in &ended {
        assert!(is_found(&db, *run).await);
        assert!(files_with(&ann(), &db, *run).await.unwrap().is_empty());
    }
    let resumed =
        format!("update runs set status = 'running', finished_at = null where id = '{}'", ended[1]);
    let removed = remove(archive(0, &resumed)).await.unwrap();
    assert!(matches!(removed, Removal::Removed { survivors: 1, .. }), "{removed:?}");
    for (run, stays) in ended.iter().zip([false, true, false]) {
        assert_eq!(is_found(&db, *run).await, stays);
        assert_eq!(files_with(&ann(), &db, *run).await.unwrap().len(), 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_that_a_reader_holds_is_not_waited_for_long() {
    let url = test_database().await;
    let db = Db::connect(&url, &PoolSettings::default()).await.unwrap();
    let mut owner = PgConnection::connect(&url).await.unwrap();
    daily_runs(&db, &mut owner, 3).await;
    sqlx::raw_sql("begin; lock table runs in access share mode").execute(&mut owner).await.unwrap();
    let removing = tokio::spawn({
        let db = db.clone();
        async move { remove_oldest(&db, PartitionedTable::Runs, Utc::now(), None).await }
    });
    begun_to_wait(&mut owner, 1).await;
    // Others wait behind it, for less than they are ready to.
    let mut other = PgConnection::connect(&url).await.unwrap();
    let read = "set lock_timeout = '9s'; select count(*) from runs";
    sqlx::raw_sql(read).execute(&mut other).await.unwrap();
    let error = removing.await.unwrap().unwrap_err();
    assert!(error.cause().contains("lock timeout"), "{error}");
    sqlx::raw_sql("rollback").execute(&mut owner).await.unwrap();
    let removed = remove_oldest(&db, PartitionedTable::Runs, Utc::now(), None).await.unwrap();
    assert!(matches!(removed, Removal::Removed { .. }), "{removed:?}");
}

/// The partitions that a statement reads, as its plan names them.
async fn partitions_read(owner: &mut PgConnection, statement: &str) -> BTreeSet<String> {
    let explain = format!("explain {statement}");
    let plan: Vec<String> =
        sqlx::query_scalar(AssertSqlSafe(explain)).fetch_all(owner).await.unwrap();
    let words = plan.iter().flat_map(|line| line.split_whitespace());
    let partition = |word: &str| word.split('_').take(2).collect::<Vec<_>>().join("_");
    let named = words.filter(|word| word.starts_with("runs_")).map(partition);
    // Aliases are shorter, such as `runs_1`.
    named.filter(|name| name.len() >= "runs_rest".len()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_look_up_reads_one_partition_and_a_list_those_of_its_time() {
    let (db, mut owner) = opened().await;
    daily_runs(&db, &mut owner, 20).await;
    let at = today() - DAY * 10;
    let by_id = format!("select * from runs where id = '{}'", id_at(at));
    let day = at.format("runs_%Y%m%d").to_string();
    assert_eq!(partitions_read(&mut owner, &by_id).await, BTreeSet::from([day]));
    let between = format!(
        "select id from runs where workspace_id = '{}' and created_at >= '{at}' and id >= '{}' and id <= '{}'
         order by created_at desc, id desc limit 50",
        Uuid::nil(),
        first_id(at - DAY),
        first_id(at + DAY)
    );
    assert_eq!(partitions_read(&mut owner, &between).await.len(), 3);
}
