//! Statements that change rows: privileges on the table, on the columns that get values, and SELECT on those that are read of it.

use std::sync::Arc;

use braid_base::{ColumnId, TableId};
use braid_catalog::privileges::Roles;
use braid_storage::{AccessObject, CatalogSequence, Privileges, RoleId, TableDef};
use sqlparser::ast::{
    Assignment, AssignmentTarget, CascadeOption, ConflictTarget, Cte, Delete, DoUpdate, FromTable, Ident, Insert,
    Merge, MergeAction, MergeInsertExpr, MergeInsertKind, ObjectName, OnConflict, OnConflictAction, OnInsert, Query,
    SelectItem, SetExpr, Statement, TableFactor, TableObject, TableWithJoins, Truncate, TruncateIdentityOption, Update,
};

use super::read_columns::ReadColumns;
use super::{Rules, denied};
use crate::EngineError;
use crate::dml::without_only;
use crate::names::fold;
use crate::session_locks::LockMode;
use crate::statement::{CopyPlace, CopyStatement, CopySubject};
use crate::table_names::{Named, named_table};

/// A table, and its alias.
type CalledTable = (Arc<TableDef>, Option<Ident>);

impl Rules<'_> {
    /// The changes of a query: those of its WITH, and its own if it is a change with a WITH.
    pub(super) fn check_changes(&self, query: &Query) -> Result<(), EngineError> {
        let common = query.with.iter().flat_map(|with| &with.cte_tables);
        common.map(|Cte { query, .. }| query).try_for_each(|query| self.check_changes(query))?;
        match &*query.body {
            SetExpr::Insert(statement) | SetExpr::Update(statement) | SetExpr::Delete(statement) => match statement {
                Statement::Insert(insert) => self.check_insert(insert),
                Statement::Update(update) => self.check_update(update),
                Statement::Delete(delete) => self.check_delete(delete),
                _ => Ok(()),
            },
            SetExpr::Query(inner) => self.check_changes(inner),
            _ => Ok(()),
        }
    }

    /// The table of a name; `None` for what no rows can be changed of.
    fn changed_table(&self, name: &ObjectName) -> Result<Option<Arc<TableDef>>, EngineError> {
        match named_table(self.context, &self.snapshot, name)? {
            Named::Table(def) => Ok(Some(def)),
            _ => Ok(None),
        }
    }

    fn table_of_factor(&self, factor: &TableFactor) -> Result<Option<CalledTable>, EngineError> {
        let table = without_only(TableWithJoins { relation: factor.clone(), joins: Vec::new() });
        let TableFactor::Table { name, alias, .. } = &table.relation else { return Ok(None) };
        let alias = alias.as_ref().map(|alias| alias.name.clone());
        Ok(self.changed_table(name)?.map(|def| (def, alias)))
    }

    fn check_read(&self, def: &TableDef, read: ReadColumns<'_>) -> Result<(), EngineError> {
        match read.into_columns() {
            none if none.is_empty() => Ok(()),
            columns => Ok(self.access.check_columns(def, &columns, Privileges::SELECT)?),
        }
    }

    pub(super) fn check_insert(&self, insert: &Insert) -> Result<(), EngineError> {
        if let Some(source) = &insert.source {
            self.check_changes(source)?;
        }
        let TableObject::TableName(name) = &insert.table else { return Ok(()) };
        let Some(def) = self.changed_table(name)? else { return Ok(()) };
        let listed: Vec<&str> = insert.columns.iter().filter_map(last_name).collect();
        let columns: Vec<ColumnId> = match (listed.is_empty(), &insert.source) {
            (false, _) => insert.columns.iter().filter_map(|column| column_of(&def, column)).collect(),
            (true, None) => Vec::new(),
            (true, Some(source)) => {
                let width = width_of(source).unwrap_or(def.columns.len());
                def.columns.iter().take(width).map(|column| column.id).collect()
            }
        };
        self.access.check_columns(&def, &columns, Privileges::INSERT)?;
        self.context.sequences().permit_identities_of(def.id);
        let alias = insert.table_alias.as_ref().map(|alias| &alias.alias);
        let mut read = ReadColumns::new(&def, alias);
        insert.returning.iter().for_each(|items| read.add_items(items));
        if let Some(OnInsert::OnConflict(conflict)) = &insert.on {
            self.check_conflict(&def, conflict, &mut read)?;
        }
        self.check_read(&def, read)
    }

    fn check_conflict(
        &self,
        def: &TableDef,
        conflict: &OnConflict,
        read: &mut ReadColumns<'_>,
    ) -> Result<(), EngineError> {
        read.call_also("excluded");
        match &conflict.conflict_target {
            Some(ConflictTarget::Columns(columns)) => {
                if braid_sql::syntax::conflict_target(columns).is_some() {
                    // It is a text of expressions and conditions.
                    def.columns.iter().for_each(|column| read.add_name(&column.name));
                }
                columns.iter().for_each(|column| read.add_name(&fold(column)));
            }
            Some(ConflictTarget::OnConstraint(name)) => {
                let name = name.0.last().and_then(|part| part.as_ident()).map(fold);
                let key = name.and_then(|name| def.key(&name));
                let columns = key.into_iter().flat_map(|key| &key.columns).filter_map(|id| def.column_by_id(*id));
                columns.for_each(|column| read.add_name(&column.name));
            }
            None => {}
        }
        if let OnConflictAction::DoUpdate(DoUpdate { assignments, selection }) = &conflict.action {
            self.check_assignments(def, assignments, read)?;
            selection.iter().for_each(|condition| read.add(condition));
        }
        Ok(())
    }

    fn check_assignments(
        &self,
        def: &TableDef,
        assignments: &[Assignment],
        read: &mut ReadColumns<'_>,
    ) -> Result<(), EngineError> {
        let mut columns = Vec::new();
        for Assignment { target, value } in assignments {
            let names = match target {
                AssignmentTarget::ColumnName(name) => std::slice::from_ref(name),
                AssignmentTarget::Tuple(names) => names,
            };
            columns.extend(names.iter().filter_map(|name| column_of(def, name)));
            read.add(value);
        }
        Ok(self.access.check_columns(def, &columns, Privileges::UPDATE)?)
    }

    pub(super) fn check_update(&self, update: &Update) -> Result<(), EngineError> {
        let Some((def, alias)) = self.table_of_factor(&update.table.relation)? else { return Ok(()) };
        self.context.sequences().permit_identities_of(def.id);
        let mut read = ReadColumns::new(&def, alias.as_ref());
        self.check_assignments(&def, &update.assignments, &mut read)?;
        update.selection.iter().for_each(|condition| read.add(condition));
        update.returning.iter().for_each(|items| read.add_items(items));
        if let Some(sqlparser::ast::UpdateTableFromKind::AfterSet(tables)) = &update.from {
            tables.iter().for_each(|table| read.add(table));
        }
        self.check_read(&def, read)
    }

    pub(super) fn check_delete(&self, delete: &Delete) -> Result<(), EngineError> {
        let (FromTable::WithFromKeyword(tables) | FromTable::WithoutKeyword(tables)) = &delete.from;
        let Some(table) = tables.first() else { return Ok(()) };
        let Some((def, alias)) = self.table_of_factor(&table.relation)? else { return Ok(()) };
        self.access.check(AccessObject::Relation(def.id), Privileges::DELETE)?;
        let mut read = ReadColumns::new(&def, alias.as_ref());
        delete.selection.iter().for_each(|condition| read.add(condition));
        delete.returning.iter().for_each(|items| read.add_items(items));
        delete.using.iter().flatten().for_each(|table| read.add(table));
        self.check_read(&def, read)
    }

    pub(super) fn check_merge(&self, merge: &Merge) -> Result<(), EngineError> {
        let Some((def, alias)) = self.table_of_factor(&merge.table)? else { return Ok(()) };
        let mut read = ReadColumns::new(&def, alias.as_ref());
        read.add(&*merge.on);
        for clause in &merge.clauses {
            clause.predicate.iter().for_each(|condition| read.add(condition));
            match &clause.action {
                // DO NOTHING is read as one of these.
                MergeAction::Insert(MergeInsertExpr { kind: MergeInsertKind::Row, .. }) => {}
                MergeAction::Update(update) if update.assignments.is_empty() => {}
                MergeAction::Insert(MergeInsertExpr {
                    kind: MergeInsertKind::Values(values), columns: listed, ..
                }) => {
                    let row = values.rows.first().map_or(&[][..], |row| &row.content);
                    row.iter().for_each(|value| read.add(value));
                    let columns: Vec<ColumnId> = match listed.is_empty() {
                        true => def.columns.iter().take(row.len()).map(|column| column.id).collect(),
                        false => listed.iter().filter_map(|column| column_of(&def, column)).collect(),
                    };
                    self.access.check_columns(&def, &columns, Privileges::INSERT)?;
                    self.context.sequences().permit_identities_of(def.id);
                }
                MergeAction::Update(update) => self.check_assignments(&def, &update.assignments, &mut read)?,
                MergeAction::Delete { .. } => {
                    self.access.check(AccessObject::Relation(def.id), Privileges::DELETE)?;
                }
            }
        }
        // The rows that the source meets are read, whatever becomes of them.
        Ok(self.access.check_columns(&def, &read.into_columns(), Privileges::SELECT)?)
    }

    pub(super) fn check_truncate(&self, truncate: &Truncate) -> Result<(), EngineError> {
        let mut emptied = Vec::new();
        for table in &truncate.table_names {
            if let Some((AccessObject::Relation(id), _)) = self.relation(&table.name)? {
                emptied.push(id);
            }
        }
        let mut at = 0;
        while let Some(id) = emptied.get(at).copied() {
            self.access.check(AccessObject::Relation(id), Privileges::TRUNCATE)?;
            if truncate.identity == Some(TruncateIdentityOption::Restart) {
                let owned = |known: &&CatalogSequence| known.definition.owner.is_some_and(|owner| owner.table == id);
                let mut owned = self.snapshot.sequences().filter(owned);
                owned.try_for_each(|known| self.access.check_owner(AccessObject::Relation(known.definition.id)))?;
            }
            at += 1;
            // CASCADE empties the tables that refer to it.
            if truncate.cascade == Some(CascadeOption::Cascade) {
                let others = self.snapshot.references_to(id).into_iter().map(|other| other.table.id);
                let new: Vec<TableId> = others.filter(|other| !emptied.contains(other)).collect();
                emptied.extend(new);
            }
        }
        Ok(())
    }

    pub(super) fn check_lock(&self, names: &[ObjectName], mode: LockMode) -> Result<(), EngineError> {
        // It fails for that.
        if !self.context.is_in_transaction() {
            return Ok(());
        }
        let changes = [Privileges::UPDATE, Privileges::DELETE, Privileges::TRUNCATE];
        let enough = match mode {
            LockMode::AccessShare => vec![Privileges::SELECT],
            LockMode::RowExclusive => [&changes[..], &[Privileges::INSERT]].concat(),
            _ => changes.to_vec(),
        };
        for name in names {
            if let Some((object, _)) = self.relation(name)?
                && !enough.iter().any(|privilege| self.access.has(object, *privilege))
            {
                self.access.check(object, enough[0])?;
            }
        }
        Ok(())
    }

    pub(super) fn check_copy(&self, copy: &CopyStatement) -> Result<(), EngineError> {
        if let CopyPlace::File(_) = copy.place {
            self.check_files(copy.is_from())?;
        }
        let CopySubject::Table { name, columns } = &copy.subject else { return Ok(()) };
        let Some(def) = self.changed_table(name)? else { return Ok(()) };
        let columns: Vec<ColumnId> = match columns.is_empty() {
            true => def.columns.iter().map(|column| column.id).collect(),
            false => columns.iter().filter_map(|column| def.column(&fold(column)).map(|(id, _)| id)).collect(),
        };
        let privilege = if copy.is_from() { Privileges::INSERT } else { Privileges::SELECT };
        self.access.check_columns(&def, &columns, privilege)?;
        if copy.is_from() {
            self.context.sequences().permit_identities_of(def.id);
        }
        Ok(())
    }

    fn check_files(&self, is_from: bool) -> Result<(), EngineError> {
        let (role, name, what): (RoleId, _, _) = match is_from {
            true => (Roles::READ_SERVER_FILES, "pg_read_server_files", "from"),
            false => (Roles::WRITE_SERVER_FILES, "pg_write_server_files", "to"),
        };
        match self.has_role(role) {
            true => Ok(()),
            false => {
                let message = format!("must be superuser or have privileges of the {name} role to COPY {what} a file");
                let hint = "Anyone can COPY to stdout or from stdin. psql's \\copy command also works for anyone.";
                Err(denied(message).with_hint(hint))
            }
        }
    }
}

fn column_of(def: &TableDef, name: &ObjectName) -> Option<ColumnId> {
    def.column(&fold(name.0.last()?.as_ident()?)).map(|(id, _)| id)
}

fn last_name(name: &ObjectName) -> Option<&str> {
    name.0.last().and_then(|part| part.as_ident()).map(|ident| ident.value.as_str())
}

/// The number of columns of VALUES, and of a list without `*`.
fn width_of(query: &Query) -> Option<usize> {
    match &*query.body {
        SetExpr::Values(values) => values.rows.first().map(|row| row.content.len()),
        SetExpr::Select(select) => {
            let is_one =
                |item: &SelectItem| matches!(item, SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { .. });
            select.projection.iter().all(is_one).then_some(select.projection.len())
        }
        _ => None,
    }
}
