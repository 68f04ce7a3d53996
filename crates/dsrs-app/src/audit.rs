//! The audit log, as it is read. Entries are written by the store, with the changes.

use crate::{App, AppError};
use dsrs_store::audit::{self, AuditFilter, AuditRow};
use dsrs_store::{ListQuery, Page, Scope};

impl App {
    /// One page of the audit log of the workspace, newest first.
    pub async fn audit_list(
        &self,
        scope: &Scope,
        filter: &AuditFilter,
        list: ListQuery<i64>,
    ) -> Result<Page<AuditRow, i64>, AppError> {
        Ok(audit::list(scope, &self.db, filter, list).await?)
    }
}
