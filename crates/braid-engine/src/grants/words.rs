//! The words of privileges: which an object of a kind can have.

use braid_catalog::privileges::{ObjectKind, privilege_of_word, word_of_privilege};
use braid_storage::Privileges;
use sqlparser::ast::Ident;

use crate::names::fold;
use crate::notices::Notice;
use crate::statement::{self, GrantedObjects, SchemaObjects};
use crate::statement_context::StatementContext;
use crate::{EngineError, SqlState};

/// Words of PostgreSQL that are privileges of settings, which have none here.
const OF_PARAMETERS: [&str; 2] = ["set", "alter system"];

/// The privileges that a statement names.
pub(super) struct Wanted {
    /// `None` for all of them.
    named: Option<Privileges>,
    /// Columns with the privileges on them, `None` for all.
    columns: Vec<(String, Option<Privileges>)>,
    /// Whether the statement says TABLE, or nothing, so that a sequence can be meant.
    is_of_tables: bool,
}

impl Wanted {
    /// Those of a statement.
    ///
    /// # Errors
    /// For words that are no privileges (42601), and columns of what is no table (0LP01).
    pub fn of(written: &statement::Privileges, objects: &GrantedObjects) -> Result<Self, EngineError> {
        let is_of_tables =
            matches!(objects, GrantedObjects::Tables(_) | GrantedObjects::InSchemas(SchemaObjects::Tables, _));
        let wanted = Self { is_of_tables, ..Self::of_words(written)? };
        match wanted.columns.is_empty() || is_of_tables {
            true => Ok(wanted),
            false => Err(invalid("column privileges are only valid for relations")),
        }
    }

    /// Those of words.
    ///
    /// # Errors
    /// 42601
    pub fn of_words(written: &statement::Privileges) -> Result<Self, EngineError> {
        let is_of_tables = false;
        match written {
            statement::Privileges::All(columns) if columns.is_empty() => {
                Ok(Self { named: None, columns: Vec::new(), is_of_tables })
            }
            statement::Privileges::All(columns) => {
                let columns = columns.iter().map(|column| (fold(column), None)).collect();
                Ok(Self { named: Some(Privileges::NONE), columns, is_of_tables })
            }
            statement::Privileges::Listed(listed) => {
                let (mut named, mut columns) = (Privileges::NONE, Vec::new());
                for statement::Privilege { name, columns: of } in listed {
                    let privilege = privilege_named(name)?;
                    if of.is_empty() {
                        named = named | privilege;
                    }
                    columns.extend(of.iter().map(|column| (fold(column), Some(privilege))));
                }
                Ok(Self { named: Some(named), columns, is_of_tables })
            }
        }
    }

    /// Whether there are columns.
    pub fn has_columns(&self) -> bool {
        !self.columns.is_empty()
    }

    /// The privileges on an object of a kind as a whole, and whether they are all that there are.
    ///
    /// # Errors
    /// 0LP01 for those that it cannot have. A sequence that is named like a table has a warning instead.
    pub fn of_object(
        &self,
        context: &StatementContext,
        kind: ObjectKind,
        name: &str,
    ) -> Result<(Privileges, bool), EngineError> {
        let Some(named) = self.named else { return Ok((kind.all(), true)) };
        if kind == ObjectKind::Sequence && self.is_of_tables {
            let unknown = named - ObjectKind::Relation.all() - kind.all();
            check(unknown, ObjectKind::Relation)?;
            if !kind.all().contains(named) {
                let message = format!("sequence \"{name}\" only supports USAGE, SELECT, and UPDATE privileges");
                context.raise(Notice::warning(SqlState::InvalidGrantOperation, message));
            }
            return Ok((named & kind.all(), false));
        }
        check(named, kind)?;
        Ok((named, false))
    }

    /// The columns with the privileges on them, and whether they are all that there are.
    ///
    /// # Errors
    /// 0LP01 for those that no column can have.
    pub fn of_columns(&self) -> Result<Vec<(String, Privileges, bool)>, EngineError> {
        let columns = self.columns.iter().map(|(name, privileges)| {
            let all = ObjectKind::Column.all();
            privileges.iter().try_for_each(|privileges| check(*privileges, ObjectKind::Column))?;
            Ok((name.clone(), privileges.unwrap_or(all), privileges.is_none()))
        });
        columns.collect()
    }
}

fn privilege_named(name: &Ident) -> Result<Privileges, EngineError> {
    let word = fold(name);
    if OF_PARAMETERS.contains(&&*word) {
        return Err(EngineError::unsupported("privileges of settings are not supported"));
    }
    privilege_of_word(&word)
        .ok_or_else(|| EngineError::new(SqlState::SyntaxError, format!("unrecognized privilege type \"{word}\"")))
}

fn check(privileges: Privileges, kind: ObjectKind) -> Result<(), EngineError> {
    match (privileges - kind.all()).each().next() {
        None => Ok(()),
        Some(other) => {
            // A sequence could be meant, which has USAGE.
            let what = match kind {
                ObjectKind::Relation if other != Privileges::USAGE => "relation",
                kind => kind.word(),
            };
            Err(invalid(&format!("invalid privilege type {} for {what}", word_of_privilege(other))))
        }
    }
}

fn invalid(message: &str) -> EngineError {
    EngineError::new(SqlState::InvalidGrantOperation, message)
}
