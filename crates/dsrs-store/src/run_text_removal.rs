//! Removes prefixes and dictionaries that no run can refer to any more. May not know when it is called.

use super::{Db, StoreError};

/// The tables, which have the same columns where it matters here.
const TABLES: [&str; 2] = ["prompt_prefixes", "run_dictionaries"];

/// Rows that one statement removes.
const STEP: i64 = 1000;

/// Removes rows that were not used for days, while their workspace has only runs that were created since. A run refers
/// to what was used when it ended, which is later than it was created. `used_on` is hours early at most; the rest of a
/// week is for clocks of servers that are wrong.
pub async fn purge(db: &Db) -> Result<u64, StoreError> {
    let mut removed = 0;
    for table in TABLES {
        // The day is compared once more outside: another server may have used the row since the statement began.
        let sql = format!(
            "delete from {table} where used_on < current_date - 10 and id in (
                 select id from {table} unused
                 where used_on < current_date - 10
                   and not exists (select from runs where runs.workspace_id = unused.workspace_id
                                     and runs.created_at < unused.used_on + 7)
                 order by id limit $1 for no key update skip locked)"
        );
        let purged = sqlx::query(sqlx::AssertSqlSafe(sql)).bind(STEP);
        let purged = purged.execute(&mut *db.all_workspaces().await?).await?;
        removed += purged.rows_affected();
    }
    Ok(removed)
}
