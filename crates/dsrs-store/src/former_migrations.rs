//! Databases from before the migrations were replaced by one file for each noun. One that has all former migrations
//! has the tables of the present files, so these are recorded as applied without being run. May not know what a
//! migration changes.
//!
//! The rows of the former migrations remain: a server of the release before, which may be started again, misses none.
//! This file can go, with its call and its tests, when no database is left that commit 80566524 has migrated last.

use sqlx::migrate::{Migrate, Migrator};
use sqlx::{Connection, PgConnection};

use super::StoreError;

/// How many former migrations there were. Their versions were 1 to 64, with a gap.
const FORMER: i64 = 50;

/// The newest of the files that replace them.
const NEWEST: i64 = 116;

/// How many former migrations the database names, and how many of them were applied.
const COUNT: &str = "select count(*), count(*) filter (where success) from _sqlx_migrations
    where version <= 64";

/// Records the migrations that replace the former ones, if the database has all of these. Fails if it has only some.
/// The lock of migrations is held.
pub(super) async fn adopt(own: &mut PgConnection, migrator: &Migrator) -> Result<(), StoreError> {
    own.ensure_migrations_table("_sqlx_migrations").await?;
    // not checked at compile time: the migrator's own table is not among the migrations
    let (recorded, applied): (i64, i64) = sqlx::query_as(COUNT).fetch_one(&mut *own).await?;
    match (recorded, applied) {
        (0, _) => Ok(()),
        (_, FORMER) => {
            let mut transaction = own.begin().await?;
            migrator.run_direct(Some(NEWEST), &mut *transaction, true).await?;
            Ok(transaction.commit().await?)
        }
        _ => Err(StoreError::internal(format!(
            "the database has {applied} of the {FORMER} migrations that preceded those of this release: \
             start commit 80566524 on it first"
        ))),
    }
}
