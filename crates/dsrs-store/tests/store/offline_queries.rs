//! The offline data of the queries that are checked at compile time (`.sqlx/`): a migrated database describes each query in the
//! same way, and the queries are those of the source. Knows nothing of what they do.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;
use sha2::{Digest, Sha256};
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection, SqlSafeStr};

use dsrs_test::source::{Token, tokens};
use dsrs_test::test_database;

const REMEDY: &str =
    "run `scripts/with-postgres.sh scripts/prepare-sqlx.sh` and look at what changed";

#[tokio::test(flavor = "multi_thread")]
async fn a_migrated_database_describes_each_query_as_its_offline_data_do() {
    let mut connection = PgConnection::connect(&test_database().await).await.unwrap();
    let found = differences(&mut connection).await;
    assert!(found.is_empty(), "{REMEDY}:\n{}", found.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_migration_that_changes_what_a_query_returns_is_found() {
    let url = test_database().await;
    let migrations = [
        ("jobs alter column attempts drop not null", "nullable"),
        ("jobs alter column attempts type bigint", "columns"),
        ("jobs rename column attempts to tries", "42703"),
    ];
    for (migration, member) in migrations {
        // A connection describes a query from its cache when it knows it.
        let mut connection = PgConnection::connect(&url).await.unwrap();
        let mut changed = connection.begin().await.unwrap();
        let statement = AssertSqlSafe(format!("alter table {migration}"));
        sqlx::raw_sql(statement).execute(&mut *changed).await.unwrap();
        let found = differences(&mut changed).await;
        changed.rollback().await.unwrap();
        let is_found = |text: &String| text.contains("update jobs") && text.contains(member);
        assert!(found.iter().any(is_found), "{migration}: {found:?}");
    }
}

#[test]
fn the_offline_data_are_those_of_the_queries_of_the_source() {
    let (source, stored) = (queries_of_the_source(), stored_queries());
    for (hash, data) in &stored {
        assert_eq!(data["hash"], hash_of(data["query"].as_str().unwrap()));
        assert_eq!(data["hash"], **hash, "the name of a file in .sqlx/");
        assert!(source.contains_key(hash), "no query of src/ is that of {hash}: {REMEDY}");
    }
    for (hash, query) in &source {
        assert!(stored.contains_key(hash), "there are no offline data of {query}: {REMEDY}");
    }
}

/// What a database says of the stored queries in another way than their offline data.
async fn differences(connection: &mut PgConnection) -> Vec<String> {
    let mut found = Vec::new();
    for stored in stored_queries().values() {
        let query = stored["query"].as_str().unwrap();
        // So that an error does not end the transaction around it.
        let mut step = connection.begin().await.unwrap();
        let described = step.describe(AssertSqlSafe(query.to_owned()).into_sql_str()).await;
        step.rollback().await.unwrap();
        let described = match described {
            Ok(described) => serde_json::to_value(&described).unwrap(),
            Err(error) => {
                found.push(format!("{error:?} in {query}"));
                continue;
            }
        };
        for (member, said) in described.as_object().unwrap() {
            let before = &stored["describe"][member];
            if said != before {
                found.push(format!("{member} is {said}, was {before} in {query}"));
            }
        }
    }
    found
}

/// The files of `.sqlx/`, by the hash in their name.
fn stored_queries() -> BTreeMap<String, Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(".sqlx");
    let read = |file: std::io::Result<fs::DirEntry>| {
        let path = file.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let hash = name.strip_prefix("query-").unwrap().to_owned();
        (hash, serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap())
    };
    fs::read_dir(folder).unwrap().map(read).collect()
}

/// The texts in the macros of `src/`, by their hash.
fn queries_of_the_source() -> BTreeMap<String, String> {
    let mut left = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
    let mut found = BTreeMap::new();
    while let Some(path) = left.pop() {
        if path.is_dir() {
            left.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|end| end == "rs") {
            let queries = queries_of(&fs::read_to_string(&path).unwrap());
            found.extend(queries.into_iter().map(|query| (hash_of(&query), query)));
        }
    }
    found
}

fn queries_of(source: &str) -> Vec<String> {
    let strings = tokens(source).into_iter().filter_map(|token| match token {
        Token::String { at, text, .. } if ends_in_query_macro(&source[..at]) => Some(text),
        _ => None,
    });
    strings.map(content_of).collect()
}

/// Whether the next argument is the text of a query.
fn ends_in_query_macro(before: &str) -> bool {
    let Some((head, arguments)) = before.rsplit_once("!(") else { return false };
    let name = head.rsplit(|c: char| !c.is_alphanumeric() && c != '_').next();
    match name {
        Some("query" | "query_scalar") => arguments.trim().is_empty(),
        Some("query_as") => arguments.trim().ends_with(',') && !arguments.contains('"'),
        _ => false,
    }
}

fn content_of(literal: &str) -> String {
    let is_raw = literal.starts_with('r');
    assert!(is_raw || !literal.contains('\\'), "an escape, which is not read here: {literal}");
    let quoted = literal.trim_start_matches('r').trim_matches('#');
    quoted.strip_prefix('"').unwrap().strip_suffix('"').unwrap().to_owned()
}

fn hash_of(query: &str) -> String {
    format!("{:x}", Sha256::digest(query))
}

#[test]
fn the_text_of_a_query_is_found_in_each_macro() {
    let source = r##"query!("a", "no"); sqlx::query_as!(Row, r#"b "c!""#, x); query_scalar!(
        "d"); println!("no"); other_query!("no"); f(query!("e").call("no"))"##;
    assert_eq!(queries_of(source), ["a", "b \"c!\"", "d", "e"]);
}
