//! ADD, DROP, RENAME and VALIDATE of constraints.

use std::sync::Arc;

use super::altered_table::AlteredTable;
use crate::dependents::Behavior;
use crate::dml::row_checks::bound_check;
use crate::notices::Notice;
use crate::statement_context::StatementContext;
use crate::table::check_constraints::new_check;
use crate::table::definition::{WrittenCheck, multiple_primary_keys};
use crate::table::foreign_keys::constraint_names;
use crate::table::keys::{WrittenKey, added_keys};
use crate::{EngineError, SqlState};
use braid_storage::{CheckDef, ForeignKeyDef, KeyDef, KeyKind, TableDef};

impl AlteredTable {
    /// `ADD [CONSTRAINT …] CHECK (…) [NOT VALID]`
    pub(super) fn add_check(
        &mut self,
        context: &StatementContext,
        written: &WrittenCheck,
        validated: bool,
    ) -> Result<(), EngineError> {
        let check = new_check(context, &context.snapshot(), &self.def, written)?;
        if validated {
            self.unverified.push(check.name.clone());
        }
        self.def.checks.push(CheckDef { validated, ..check });
        Ok(())
    }

    /// `ADD [CONSTRAINT …] PRIMARY KEY (…)` and `UNIQUE (…)`, or of a new column.
    pub(super) fn add_key(&mut self, context: &StatementContext, written: &WrittenKey) -> Result<(), EngineError> {
        let ids = written.column_ids(&self.def.columns)?;
        if written.kind == KeyKind::Primary {
            if !self.def.primary_key.is_empty() {
                return Err(multiple_primary_keys(&self.def.name));
            }
            written.columns.iter().try_for_each(|column| self.forbid_nulls(column))?;
            self.def.primary_key = ids;
        }
        let TableDef { schema, name, columns, keys, .. } = &self.def;
        let checks = self.def.checks.iter().map(|check| check.name.clone());
        let others = checks.chain(self.def.foreign_keys.iter().map(|key| key.name.clone())).collect();
        let written = std::slice::from_ref(written);
        let added = added_keys(&context.snapshot(), (*schema, name), columns, (keys, &others), written)?;
        let with_id = |key: KeyDef| KeyDef { id: context.database().store().write_set().new_relation_id(), ..key };
        self.def.keys.extend(added.into_iter().map(with_id));
        Ok(())
    }

    /// `DROP CONSTRAINT [IF EXISTS]`
    pub(super) fn drop_constraint(
        &mut self,
        context: &StatementContext,
        name: &str,
        if_exists: bool,
        behavior: Behavior,
    ) -> Result<(), EngineError> {
        if let Some(at) = self.def.foreign_keys.iter().position(|key| key.name == name) {
            let dropped = self.def.foreign_keys.remove(at);
            self.unchecked.retain(|key| *key != dropped.id);
            return Ok(());
        }
        if let Some(at) = self.def.checks.iter().position(|check| check.name == name) {
            self.def.checks.remove(at);
            self.unverified.retain(|other| other != name);
            return Ok(());
        }
        if let Some(at) = self.def.keys.iter().position(|key| key.name == name && key.kind.is_constraint()) {
            let dropped = self.def.keys.remove(at);
            if dropped.kind == KeyKind::Primary {
                self.def.primary_key.clear();
            }
            self.release_key(context, (name, &dropped.columns), behavior)?;
            return match dropped.kind {
                KeyKind::Primary => self.drop_views_by_key(context, name, behavior),
                _ => Ok(()),
            };
        }
        if self.def.has_declared_primary_key() && name == format!("{}_pkey", self.def.name) {
            return Err(EngineError::unsupported("dropping a primary key is not supported"));
        }
        let missing = self.no_constraint(name, "of relation");
        match if_exists {
            true => context.raise(Notice::skipping(SqlState::SuccessfulCompletion, missing.message())),
            false => return Err(missing),
        }
        Ok(())
    }

    /// `RENAME CONSTRAINT … TO …`
    pub(super) fn rename_constraint(
        &mut self,
        context: &StatementContext,
        from: &str,
        to: &str,
    ) -> Result<(), EngineError> {
        if let Some(at) = self.def.keys.iter().position(|key| key.name == from && key.kind.is_constraint()) {
            if context.snapshot().has_relation(self.def.schema, to) {
                return Err(EngineError::new(SqlState::DuplicateTable, format!("relation \"{to}\" already exists")));
            }
            to.clone_into(&mut self.def.keys[at].name);
            return Ok(());
        }
        let has_name = constraint_names(&self.def).any(|name| name == to);
        let taken = || {
            let message = format!("constraint \"{to}\" for relation \"{}\" already exists", self.def.name);
            EngineError::new(SqlState::DuplicateObject, message)
        };
        if let Some(at) = self.def.foreign_keys.iter().position(|key| key.name == from) {
            if has_name {
                return Err(taken());
            }
            let renamed = ForeignKeyDef { name: to.to_owned(), ..(*self.def.foreign_keys[at]).clone() };
            self.def.foreign_keys[at] = Arc::new(renamed);
            return Ok(());
        }
        let missing = self.no_constraint(from, "for table");
        let at = self.def.checks.iter().position(|check| check.name == from).ok_or(missing)?;
        if has_name {
            return Err(taken());
        }
        to.clone_into(&mut self.def.checks[at].name);
        Ok(())
    }

    /// `VALIDATE CONSTRAINT`
    pub(super) fn validate_constraint(&mut self, name: &str) -> Result<(), EngineError> {
        if let Some(at) = self.def.foreign_keys.iter().position(|key| key.name == name) {
            if !self.def.foreign_keys[at].validated {
                let known = ForeignKeyDef::clone(&self.def.foreign_keys[at]);
                self.unchecked.push(known.id);
                self.def.foreign_keys[at] = Arc::new(ForeignKeyDef { validated: true, ..known });
            }
            return Ok(());
        }
        if self.def.keys.iter().any(|key| key.name == name && key.kind.is_constraint()) {
            let table = &self.def.name;
            let message =
                format!("constraint \"{name}\" of relation \"{table}\" is not a foreign key or check constraint");
            return Err(EngineError::new(SqlState::WrongObjectType, message));
        }
        let missing = self.no_constraint(name, "of relation");
        let check = self.def.checks.iter_mut().find(|check| check.name == name).ok_or(missing)?;
        if !check.validated {
            check.validated = true;
            self.unverified.push(name.to_owned());
        }
        Ok(())
    }

    fn no_constraint(&self, name: &str, of: &str) -> EngineError {
        let message = format!("constraint \"{name}\" {of} \"{}\" does not exist", self.def.name);
        EngineError::new(SqlState::UndefinedObject, message)
    }

    /// Binds the constraints of a column that has another type, which its rows must satisfy again.
    pub(super) fn recheck(&mut self, context: &StatementContext, name: &str) -> Result<(), EngineError> {
        let def = Arc::new(self.def.clone());
        let Some((id, _)) = def.column(name) else { return Ok(()) };
        for check in def.checks.iter().filter(|check| check.columns.contains(&id)) {
            bound_check(context, &def, check)?;
            if check.validated && !self.unverified.contains(&check.name) {
                self.unverified.push(check.name.clone());
            }
        }
        Ok(())
    }
}
