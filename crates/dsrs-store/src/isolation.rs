//! Row-level security from the side of the sessions: what a session may see, and the role that it changes
//! to if its own ignores the policies. The policies are in the migrations. May not know pools.
//!
//! Superusers and roles with BYPASSRLS ignore policies. A private Postgres has only a superuser, and many
//! operators connect as one. Such sessions change to [`ROLE`], which has rights on rows and no others.

use sqlx::{AssertSqlSafe, PgConnection};
use uuid::Uuid;

use super::StoreError;

/// The role that sessions change to. Roles belong to the whole cluster, rights to one database.
const ROLE: &str = "dsrs_app";

/// Another server may create the role at the same time, or the right to create it may be missing.
const CREATE_ROLE: &str = "do $$ begin
        if not exists (select from pg_roles where rolname = 'dsrs_app') then
            create role dsrs_app nologin;
        end if;
    exception when duplicate_object or unique_violation or insufficient_privilege then null;
    end $$";

/// For a role with BYPASSRLS that is no superuser.
const JOIN_ROLE: &str = "grant dsrs_app to current_user";

/// The rights of the role on the tables and sequences of the schema. Rights that exist are not granted
/// again: that would write to the catalog at every start.
const GRANT_RIGHTS: &str = "do $$
    declare
        item record;
    begin
        if not has_schema_privilege('dsrs_app', current_schema(), 'usage') then
            execute format('grant usage on schema %I to dsrs_app', current_schema());
        end if;
        for item in
            select found.oid, found.relname, found.relkind, found.oid::regclass as name
            from pg_class found join pg_namespace schema on schema.oid = found.relnamespace
            where schema.nspname = current_schema() and found.relkind in ('r', 'p', 'S')
        loop
            if item.relkind = 'S' then
                if not has_sequence_privilege('dsrs_app', item.oid, 'usage') then
                    execute format('grant usage on sequence %s to dsrs_app', item.name);
                end if;
            elsif item.relname = '_sqlx_migrations' then
                if not has_table_privilege('dsrs_app', item.oid, 'select') then
                    execute format('grant select on %s to dsrs_app', item.name);
                end if;
            elsif not has_table_privilege('dsrs_app', item.oid, 'delete') then
                execute format('grant select, insert, update, delete on %s to dsrs_app', item.name);
            end if;
        end loop;
    end $$";

/// Whether the role has all of these rights.
const HAS_RIGHTS: &str = "select has_schema_privilege('dsrs_app', current_schema(), 'usage')
    and not exists (
        select from pg_class found join pg_namespace schema on schema.oid = found.relnamespace
        where schema.nspname = current_schema() and case
            when found.relkind = 'S' then not has_sequence_privilege('dsrs_app', found.oid, 'usage')
            when found.relname = '_sqlx_migrations' then not has_table_privilege('dsrs_app', found.oid, 'select')
            when found.relkind in ('r', 'p') then not has_table_privilege('dsrs_app', found.oid, 'delete')
            else false
        end)";

/// The rows that a session or a transaction may see and write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Visible {
    /// None.
    Nothing,
    /// Those of one workspace.
    Workspace(Uuid),
    /// All.
    Everything,
}

impl Visible {
    /// The statement that changes a session.
    pub(super) fn set_session(self) -> String {
        format!("set dsrs.workspace = '{}'", self.setting())
    }

    /// The statements that begin a transaction. The setting ends with it.
    pub(super) fn begin(self) -> String {
        format!("begin; set local dsrs.workspace = '{}'", self.setting())
    }

    fn setting(self) -> String {
        match self {
            Self::Nothing => String::new(),
            Self::Workspace(id) => id.to_string(),
            Self::Everything => "*".to_owned(),
        }
    }
}

/// The statement that makes the policies hold for sessions like this one, if they ignore the policies and
/// may change to the role. Creates the role if it is missing.
pub(super) async fn change_of_role(
    connection: &mut PgConnection,
) -> Result<Option<String>, StoreError> {
    let ignores_policies: bool = sqlx::query_scalar(
        "select rolsuper or rolbypassrls from pg_roles where rolname = current_user",
    )
    .fetch_one(&mut *connection)
    .await?;
    if !ignores_policies {
        return Ok(None);
    }
    let change = format!("set role {ROLE}");
    for preparation in [None, Some(CREATE_ROLE), Some(JOIN_ROLE)] {
        if let Some(statement) = preparation {
            // An error shows in the attempt that follows.
            let _ = sqlx::raw_sql(statement).execute(&mut *connection).await;
        }
        let changed = sqlx::raw_sql(AssertSqlSafe(change.clone())).execute(&mut *connection).await;
        if changed.is_ok() {
            return Ok(Some(change));
        }
    }
    Ok(None)
}

/// Grants the role its rights on the tables that exist by now. A server that changes to the role cannot
/// work without them.
pub(super) async fn grant_rights(connection: &mut PgConnection) -> Result<(), StoreError> {
    let granted = sqlx::raw_sql(GRANT_RIGHTS).execute(connection).await;
    granted.map(drop).map_err(|error| {
        StoreError::internal(format!("cannot grant the rights of the role {ROLE}: {error}"))
    })
}

/// Whether nothing has to be granted.
pub(super) async fn has_rights(connection: &mut PgConnection) -> Result<bool, StoreError> {
    Ok(sqlx::query_scalar(HAS_RIGHTS).fetch_one(connection).await?)
}

/// Whether policies hold for this session. Not if there are no tables yet.
pub(super) async fn is_active(connection: &mut PgConnection) -> Result<bool, StoreError> {
    let active = "select coalesce(row_security_active(to_regclass('workspaces')), false)";
    let active = sqlx::query_scalar(active);
    Ok(active.fetch_one(connection).await?)
}
