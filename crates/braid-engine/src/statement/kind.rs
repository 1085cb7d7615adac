//! What a statement does, as far as a client or a transaction block cares.

use sqlparser::ast;

use super::command::Command;
use super::constraint_statement::ConstraintStatement;
use super::locking_queries::locks_rows;
use super::sequence_statement::SequenceStatement;
use super::view_statement::ViewStatement;

/// What a statement does, as far as a client or a transaction block cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StatementKind {
    /// SELECT, VALUES, TABLE, WITH: answers rows.
    Query,
    /// EXPLAIN: answers rows.
    Explain,
    /// INSERT.
    Insert,
    /// UPDATE.
    Update,
    /// DELETE.
    Delete,
    /// MERGE.
    Merge,
    /// SELECT whose WITH changes rows.
    ChangingQuery,
    /// A query that locks rows, itself or in its WITH: FOR UPDATE and the like. Answers rows.
    LockingQuery,
    /// COPY … FROM.
    CopyFrom,
    /// COPY … TO.
    CopyTo,
    /// CREATE TABLE, also AS SELECT.
    CreateTable,
    /// DROP TABLE.
    DropTable,
    /// ALTER TABLE.
    AlterTable,
    /// TRUNCATE.
    Truncate,
    /// CREATE TYPE.
    CreateType,
    /// ALTER TYPE.
    AlterType,
    /// DROP TYPE.
    DropType,
    /// CREATE DOMAIN.
    CreateDomain,
    /// ALTER DOMAIN.
    AlterDomain,
    /// DROP DOMAIN.
    DropDomain,
    /// CREATE SCHEMA.
    CreateSchema,
    /// ALTER SCHEMA.
    AlterSchema,
    /// DROP SCHEMA.
    DropSchema,
    /// CREATE INDEX.
    CreateIndex,
    /// ALTER INDEX.
    AlterIndex,
    /// DROP INDEX.
    DropIndex,
    /// CREATE SEQUENCE.
    CreateSequence,
    /// ALTER SEQUENCE.
    AlterSequence,
    /// DROP SEQUENCE.
    DropSequence,
    /// CREATE VIEW, also MATERIALIZED.
    CreateView,
    /// ALTER VIEW, also MATERIALIZED.
    AlterView,
    /// DROP VIEW, also MATERIALIZED.
    DropView,
    /// REFRESH MATERIALIZED VIEW.
    RefreshView,
    /// COMMENT ON.
    Comment,
    /// CREATE ROLE, also USER and GROUP.
    CreateRole,
    /// ALTER ROLE.
    AlterRole,
    /// DROP ROLE.
    DropRole,
    /// REASSIGN OWNED.
    ReassignOwned,
    /// DROP OWNED.
    DropOwned,
    /// GRANT of privileges.
    Grant,
    /// REVOKE of privileges.
    Revoke,
    /// GRANT of roles.
    GrantRole,
    /// REVOKE of roles.
    RevokeRole,
    /// ALTER DEFAULT PRIVILEGES.
    AlterDefaultPrivileges,
    /// DO.
    Do,
    /// VACUUM, ANALYZE, CHECKPOINT, LOCK TABLE.
    Maintenance,
    /// SET CONSTRAINTS.
    SetConstraints,
    /// SET.
    Set,
    /// SHOW: answers rows.
    Show,
    /// RESET.
    Reset,
    /// LISTEN, UNLISTEN, NOTIFY.
    Notify,
    /// DISCARD, CLOSE ALL.
    Discard,
    /// PREPARE.
    Prepare,
    /// EXECUTE: does what the statement that it executes does.
    Execute,
    /// DEALLOCATE.
    Deallocate,
    /// BEGIN.
    Begin,
    /// COMMIT.
    Commit,
    /// ROLLBACK.
    Rollback,
    /// SAVEPOINT, RELEASE SAVEPOINT.
    Savepoint,
    /// ROLLBACK TO SAVEPOINT.
    RollbackTo,
    /// DROP of functions, triggers, extensions and the like.
    DropAbsent,
    /// What Braid does not do.
    Unsupported,
}

impl StatementKind {
    /// The kind of a statement with this tree.
    pub(super) fn of(command: &Command) -> Self {
        match command {
            Command::Copy(copy) if copy.is_from() => Self::CopyFrom,
            Command::Copy(_) => Self::CopyTo,
            Command::CreateTableWithoutData(_) | Command::CreateTableOfExecution(_) => Self::CreateTable,
            Command::Prepare(_) => Self::Prepare,
            Command::Sequence(SequenceStatement::Create { .. }) => Self::CreateSequence,
            Command::Sequence(SequenceStatement::Alter { .. }) => Self::AlterSequence,
            Command::View(ViewStatement::Create(_)) => Self::CreateView,
            Command::View(ViewStatement::Alter(_)) => Self::AlterView,
            Command::View(ViewStatement::Refresh(_)) => Self::RefreshView,
            Command::Maintenance(_) => Self::Maintenance,
            Command::Comment(_) => Self::Comment,
            Command::Do(_) => Self::Do,
            Command::Storage(storage) if storage.tag == "ALTER TABLE" => Self::AlterTable,
            Command::Storage(_) => Self::AlterView,
            Command::Transaction(transaction) => Self::of_sql(&transaction.statement),
            Command::Object(object) => object.kind(),
            Command::Domain(domain) => domain.kind(),
            Command::Role(role) => role.kind(),
            Command::Grant(grant) => grant.kind(),
            Command::DefaultPrivileges(_) => Self::AlterDefaultPrivileges,
            Command::RenameIndex(_) => Self::AlterIndex,
            Command::DropAbsent(_) => Self::DropAbsent,
            Command::Refused(_) => Self::Unsupported,
            Command::Constraint(ConstraintStatement::Set { .. }) => Self::SetConstraints,
            Command::Constraint(ConstraintStatement::Alter { .. }) => Self::AlterTable,
            Command::Sql(statement) => Self::of_sql(statement),
        }
    }

    fn of_sql(statement: &ast::Statement) -> Self {
        use ast::Statement as S;
        match statement {
            S::Query(query) => kind_of_query(query),
            S::Explain { .. } => Self::Explain,
            S::Insert(_) => Self::Insert,
            S::Update(_) => Self::Update,
            S::Delete(_) => Self::Delete,
            S::Merge(_) => Self::Merge,
            S::CreateTable(_) => Self::CreateTable,
            S::Drop { object_type: ast::ObjectType::Table, .. } => Self::DropTable,
            S::CreateIndex(_) => Self::CreateIndex,
            S::Drop { object_type: ast::ObjectType::Index, .. } => Self::DropIndex,
            S::AlterTable(_) => Self::AlterTable,
            S::Truncate(_) => Self::Truncate,
            S::CreateType { .. } => Self::CreateType,
            S::AlterType(_) => Self::AlterType,
            S::Drop { object_type: ast::ObjectType::Type, .. } => Self::DropType,
            S::Drop { object_type: ast::ObjectType::Sequence, .. } => Self::DropSequence,
            S::CreateSchema { .. } => Self::CreateSchema,
            S::AlterSchema(_) => Self::AlterSchema,
            S::Drop { object_type: ast::ObjectType::Schema, .. } => Self::DropSchema,
            S::Drop { object_type: ast::ObjectType::View | ast::ObjectType::MaterializedView, .. } => Self::DropView,
            S::Set(_) => Self::Set,
            S::ShowVariable { .. } => Self::Show,
            S::Reset(_) => Self::Reset,
            S::LISTEN { .. } | S::UNLISTEN { .. } | S::NOTIFY { .. } => Self::Notify,
            S::Discard { .. } | S::Close { .. } => Self::Discard,
            S::Execute { .. } => Self::Execute,
            S::Deallocate { .. } => Self::Deallocate,
            S::StartTransaction { .. } => Self::Begin,
            S::Commit { .. } => Self::Commit,
            S::Rollback { savepoint: None, .. } => Self::Rollback,
            S::Rollback { savepoint: Some(_), .. } => Self::RollbackTo,
            S::Savepoint { .. } | S::ReleaseSavepoint { .. } => Self::Savepoint,
            _ => Self::Unsupported,
        }
    }

    /// Whether it changes the database.
    pub fn writes(self) -> bool {
        let is_of_types = matches!(self, Self::CreateType | Self::AlterType | Self::DropType);
        let is_of_domains = matches!(self, Self::CreateDomain | Self::AlterDomain | Self::DropDomain);
        let is_of_schemas = matches!(self, Self::CreateSchema | Self::AlterSchema | Self::DropSchema);
        let is_of_sequences = matches!(self, Self::CreateSequence | Self::AlterSequence | Self::DropSequence);
        let is_of_views = matches!(self, Self::CreateView | Self::AlterView | Self::DropView | Self::RefreshView);
        let is_of_rows = self.changes_rows() || matches!(self, Self::Merge | Self::CopyFrom | Self::Truncate);
        let is_of_tables = matches!(self, Self::CreateTable | Self::AlterTable | Self::DropTable);
        let is_of_indexes = matches!(self, Self::CreateIndex | Self::AlterIndex | Self::DropIndex);
        let is_of_system =
            is_of_indexes || is_of_types || is_of_domains || is_of_schemas || is_of_sequences || is_of_views;
        is_of_system
            || is_of_rows
            || is_of_tables
            || self.changes_access()
            || matches!(self, Self::Comment | Self::DropAbsent)
    }

    /// Whether it changes roles, privileges or owners.
    pub fn changes_access(self) -> bool {
        let is_of_roles = matches!(self, Self::CreateRole | Self::AlterRole | Self::DropRole);
        let is_of_owned = matches!(self, Self::ReassignOwned | Self::DropOwned);
        let is_of_memberships = matches!(self, Self::GrantRole | Self::RevokeRole);
        let is_of_privileges = matches!(self, Self::Grant | Self::Revoke | Self::AlterDefaultPrivileges);
        is_of_roles || is_of_owned || is_of_memberships || is_of_privileges
    }

    /// Whether it adds, changes or removes rows, and may return them.
    pub fn changes_rows(self) -> bool {
        matches!(self, Self::Insert | Self::Update | Self::Delete | Self::ChangingQuery)
    }

    /// Whether it may change the database in steps, each of which may find something locked.
    pub fn defines(self) -> bool {
        let is_of_rows = self.changes_rows() || matches!(self, Self::Merge | Self::CopyFrom);
        self.writes() && !is_of_rows
    }

    /// Whether it may read rows of tables. INSERT is asked later: most read none.
    pub fn reads_tables(self) -> bool {
        matches!(
            self,
            Self::Query
                | Self::LockingQuery
                | Self::Explain
                | Self::CopyTo
                | Self::CreateTable
                | Self::CreateView
                | Self::RefreshView
        )
    }

    /// Whether it reads or writes, so that the characteristics of its transaction are settled.
    pub fn begins_transaction(self) -> bool {
        self.reads_tables() || self.writes() || matches!(self, Self::Execute | Self::Do)
    }

    /// Whether it ends a transaction block.
    pub fn ends_transaction(self) -> bool {
        matches!(self, Self::Commit | Self::Rollback)
    }

    /// Whether it begins or ends a transaction block, or a part of one.
    pub fn controls_transaction(self) -> bool {
        self.ends_failure() || matches!(self, Self::Begin | Self::Savepoint)
    }

    /// Whether it ends a transaction block, or what has failed in it: all that a failed block still accepts.
    pub fn ends_failure(self) -> bool {
        matches!(self, Self::Commit | Self::Rollback | Self::RollbackTo)
    }
}

/// `WITH … INSERT` is a query to the parser; it is not one to us.
fn kind_of_query(query: &ast::Query) -> StatementKind {
    match &*query.body {
        ast::SetExpr::Insert(_) => StatementKind::Insert,
        ast::SetExpr::Update(_) => StatementKind::Update,
        ast::SetExpr::Delete(_) => StatementKind::Delete,
        ast::SetExpr::Merge(_) => StatementKind::Unsupported,
        _ if has_changes_in_with(query) => StatementKind::ChangingQuery,
        _ if locks_rows(query) => StatementKind::LockingQuery,
        _ => StatementKind::Query,
    }
}

/// Whether a query of WITH changes rows.
pub(super) fn has_changes_in_with(query: &ast::Query) -> bool {
    use ast::SetExpr::{Delete, Insert, Merge, Update};
    let changes = |cte: &ast::Cte| matches!(&*cte.query.body, Insert(_) | Update(_) | Delete(_) | Merge(_));
    query.with.as_ref().is_some_and(|with| with.cte_tables.iter().any(changes))
}

#[cfg(test)]
mod tests {
    use super::super::Statement;
    use super::*;

    fn kinds(sql: &str) -> Vec<StatementKind> {
        Statement::parse(sql).unwrap().iter().map(Statement::kind).collect()
    }

    #[test]
    fn every_statement_has_a_kind() {
        use StatementKind::*;
        for (sql, kind) in [
            ("select 1", Query),
            ("values (1), (2)", Query),
            ("table t", Query),
            ("with a as (select 1) select * from a", Query),
            ("select 1 for update", LockingQuery),
            ("with a as (select 1 for no key update) table a", LockingQuery),
            ("select (select 1 for share)", LockingQuery),
            ("update t set a = (select 1 for key share)", Update),
            ("explain analyze select 1", Explain),
            ("insert into t select 1", Insert),
            ("copy t from stdin", CopyFrom),
            ("copy t to stdout", CopyTo),
            ("create table t (a int)", CreateTable),
            ("create table t as select 1 as a", CreateTable),
            ("create table t as select 1 as a with no data", CreateTable),
            ("create table t as select 1 as a with data", CreateTable),
            ("create table t as execute a (1)", CreateTable),
            ("select 1 as a into t", CreateTable),
            ("select 1 as a into table t union select 2", CreateTable),
            ("drop table if exists a, b", DropTable),
            ("create type t as enum ('a')", CreateType),
            ("create domain d as int", CreateDomain),
            ("alter domain d set not null", AlterDomain),
            ("alter domain d owner to a", AlterDomain),
            ("drop domain d", DropDomain),
            ("alter type t add value 'b'", AlterType),
            ("drop type if exists t, u", DropType),
            ("create sequence s cycle start 2", CreateSequence),
            ("alter sequence s restart", AlterSequence),
            ("drop sequence if exists s, u cascade", DropSequence),
            ("set timezone = 'UTC'", Set),
            ("set constraints all deferred", SetConstraints),
            ("set constraints a, s.b immediate", SetConstraints),
            ("alter table if exists only s.t alter constraint c not deferrable", AlterTable),
            ("show server_version", Show),
            ("show all", Show),
            ("reset all", Reset),
            ("discard all", Discard),
            ("listen a", Notify),
            ("unlisten *", Notify),
            ("notify a, 'b'", Notify),
            ("prepare a as select $1", Prepare),
            ("prepare a (int, text[]) as insert into t values ($1, $2)", Prepare),
            ("execute a (1, now())", Execute),
            ("deallocate all", Deallocate),
            ("begin", Begin),
            ("start transaction isolation level serializable", Begin),
            ("commit", Commit),
            ("end", Commit),
            ("rollback", Rollback),
            ("abort", Rollback),
            ("rollback to savepoint a", RollbackTo),
            ("savepoint a", Savepoint),
            ("release savepoint a", Savepoint),
            ("update t set a = 1", Update),
            ("with x as (select 1) update t set a = 1", Update),
            ("delete from t", Delete),
            ("with x as (select 1) delete from t", Delete),
            ("with x as (delete from t returning *) select 1", ChangingQuery),
            ("with x as (delete from t returning *) insert into t select * from x", Insert),
            ("merge into t using u on t.a = u.a when not matched then do nothing", Merge),
            ("truncate t", Truncate),
            ("create view v as select 1", CreateView),
            ("create or replace temp view v (a, b) as values (1, 2)", CreateView),
            ("create materialized view if not exists v as select 1 with no data", CreateView),
            ("alter view v rename to w", AlterView),
            ("alter materialized view v rename a to b", AlterView),
            ("drop view if exists v, w cascade", DropView),
            ("drop materialized view v", DropView),
            ("refresh materialized view v", RefreshView),
            ("create table view_of_it (a int)", CreateTable),
            ("alter view v set schema s", AlterView),
            ("create index on t (a)", CreateIndex),
            ("comment on table t is 'a'", Comment),
            ("do $$ begin null; end $$", Do),
            ("DO LANGUAGE plpgsql 'BEGIN END'", Do),
            ("create user a password 'x'", CreateRole),
            ("alter group a add user b", AlterRole),
            ("alter role all reset all", AlterRole),
            ("drop group if exists a", DropRole),
            ("reassign owned by a to b", ReassignOwned),
            ("drop owned by a", DropOwned),
            ("grant update on t to a", Grant),
            ("revoke grant option for update on t from a", Revoke),
            ("grant update to a", GrantRole),
            ("revoke admin option for update from a", RevokeRole),
            ("alter default privileges for role a grant all on tables to b", AlterDefaultPrivileges),
            ("create extension x", Unsupported),
            ("create or replace rule r as on insert to t do (select 1; select 2)", Unsupported),
            ("alter index if exists i rename to j", AlterIndex),
            ("alter table t add column b int", AlterTable),
        ] {
            assert_eq!(kinds(sql), [kind], "{sql}");
        }
    }
}
