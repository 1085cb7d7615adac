//! Rows as values: `ROW(a, b)`, `t` for the row of a relation, and fields of them.
//!
//! What is known of a record's fields is a number, the modifier of its type; -1 where nothing is known. A field is found by its name when
//! an expression is bound.

use std::cell::RefCell;
use std::sync::Arc;

use sqlparser::ast::{AccessExpr, Expr, Ident};

use super::clause::Clause;
use super::places::Place;
use super::query::scope::ScopeRelation;
use super::{Binder, Placed, fold, truth, unnested, without_parentheses};
use crate::expression::{Expression, Node, Origin, RecordOperation};
use crate::pg_catalog::TypeId;
use crate::syntax::WHOLE_ROW;
use crate::types::type_names::type_name;
use crate::values::{RecordField, RecordType, Value};
use crate::{SqlError, SqlState, SqlType};

/// Most columns of a row, as in PostgreSQL.
const FIELDS_MAX: usize = 1664;

/// The types of the records of a statement, by their numbers.
#[derive(Debug, Default)]
pub(super) struct RecordTypes(RefCell<Vec<Arc<RecordType>>>);

impl RecordTypes {
    /// All of them.
    pub fn into_inner(self) -> Vec<Arc<RecordType>> {
        self.0.into_inner()
    }

    /// A type with its number. Equal ones have one number.
    fn numbered(&self, record_type: RecordType) -> (Arc<RecordType>, SqlType) {
        let mut types = self.0.borrow_mut();
        let at = types.iter().position(|known| **known == record_type).unwrap_or_else(|| {
            types.push(Arc::new(record_type));
            types.len() - 1
        });
        let number = i32::try_from(at).expect("the length of a statement bounds its records");
        let are_known = types[at].fields.iter().all(|field| field.sql_type.has_known_fields());
        (types[at].clone(), SqlType::of_record(number, are_known))
    }

    fn of(&self, sql_type: SqlType) -> Option<Arc<RecordType>> {
        let at = sql_type.record_number().and_then(|number| usize::try_from(number).ok())?;
        self.0.borrow().get(at).cloned()
    }
}

impl<'a> Binder<'a> {
    /// `ROW(a, b)`. Literals stay of unknown type, and `t.*` is the columns of `t`.
    pub(super) fn row(&self, members: &[Expr]) -> Result<Expression, SqlError> {
        let values: Vec<Expression> = self.row_members(members)?.into_iter().map(|(value, _)| value).collect();
        let record_type = RecordType::unnamed(values.iter().map(|value| value.sql_type));
        self.record(record_type, values)
    }

    pub(in crate::binder) fn record(
        &self,
        record_type: RecordType,
        values: Vec<Expression>,
    ) -> Result<Expression, SqlError> {
        if values.len() > FIELDS_MAX {
            let message = format!("ROW expressions can have at most {FIELDS_MAX} entries");
            return Err(SqlError::new(SqlState::TooManyColumns, message));
        }
        if values.iter().any(|value| self.is_open_parameter(value)) {
            return Err(SqlError::unsupported("parameters without a type in rows are not supported"));
        }
        let (record_type, sql_type) = self.statement.record_types.numbered(record_type);
        Ok(Expression { node: Node::OnRecord(RecordOperation::Make(record_type), values), sql_type })
    }

    /// A record of nulls.
    pub(super) fn null_record(&self, columns: &[(String, SqlType)]) -> Result<Expression, SqlError> {
        let field =
            |(name, sql_type): &(String, SqlType)| RecordField { name: name.as_str().into(), sql_type: *sql_type };
        let null =
            |(_, sql_type): &(String, SqlType)| Expression { node: Node::Constant(Value::Null), sql_type: *sql_type };
        let record_type = RecordType { fields: columns.iter().map(field).collect() };
        self.record(record_type, columns.iter().map(null).collect())
    }

    /// The members of a row, with the columns of `t.*` in place of it.
    pub(super) fn row_members<'s>(&self, members: &'s [Expr]) -> Result<Vec<Placed<'s>>, SqlError> {
        let mut placed = Vec::with_capacity(members.len());
        for member in members {
            match self.fields_of_star(member)? {
                Some(fields) => placed.extend(fields.into_iter().map(|(_, field)| (field, Place::Start(member)))),
                None => placed.push(self.placed(member)?),
            }
        }
        Ok(placed)
    }

    /// The relation of `t.*`, of which these are the names.
    pub(super) fn relation_of_star(&self, names: &[Ident]) -> Result<Option<(&'a ScopeRelation, Origin)>, SqlError> {
        let Some((last, names)) = names.split_last() else { return Ok(None) };
        if last.value != WHOLE_ROW {
            return Ok(None);
        }
        let found = match names {
            [relation] => self.relation_named(None, &fold(relation)),
            [schema, relation] => self.relation_named(Some(&fold(schema)), &fold(relation)),
            _ => Err(SqlError::unsupported("references to other databases are not supported")),
        };
        let found = found.map_err(|error| self.places.mark(error, Place::of(names.first())))?;
        Ok(Some((found, Origin(names.first().map(|name| name.span.start)))))
    }

    /// The row of a relation, null where an outer join found none.
    pub(super) fn relation_row(&self, relation: &ScopeRelation, origin: Origin) -> Result<Expression, SqlError> {
        if self.clause == Clause::Generation {
            let message = "cannot use whole-row variable in column generation expression";
            return Err(SqlError::new(SqlState::InvalidObjectDefinition, message)
                .with_detail("This would cause the generated column to depend on its own value."));
        }
        let presence = relation.presence;
        let presence = presence.ok_or_else(|| SqlError::unsupported("rows of this relation are not supported"))?;
        let field = |name: &str, sql_type| RecordField { name: name.into(), sql_type };
        let fields = relation.row_fields().map(|(name, column)| field(name, column.sql_type)).collect();
        let values = relation.row_fields().map(|(_, column)| self.reference(column, origin)).collect();
        let record = self.record(RecordType { fields }, values)?;
        let sql_type = record.sql_type;
        let is_there = Expression { node: Node::Column(presence, origin), sql_type: SqlType::of(TypeId::BOOL) };
        let is_absent = truth(Node::IsNull(Box::new(is_there)));
        let branches = vec![(is_absent, Expression::constant(Value::Null, sql_type))];
        Ok(Expression { node: Node::Case { branches, otherwise: Box::new(record) }, sql_type })
    }

    /// The relation whose row an expression is.
    pub(super) fn relation_of_row(&self, syntax: &Expr) -> Result<Option<(&'a ScopeRelation, Origin)>, SqlError> {
        match unnested(syntax) {
            Expr::Identifier(name) => self.relation_of_names(std::slice::from_ref(name)),
            Expr::CompoundIdentifier(names) => self.relation_of_star(names),
            _ => Ok(None),
        }
    }

    /// `(root).name`
    pub(super) fn field_of(&self, root: &Expr, name: &Ident) -> Result<Expression, SqlError> {
        let place = place_of_root(root);
        if let Some((relation, origin)) = self.relation_of_row(root)? {
            let folded = fold(name);
            return match relation.columns.iter().find(|column| column.name == folded) {
                Some(column) => Ok(self.reference(column, origin)),
                None => {
                    let of = relation.name.as_deref().unwrap_or_default();
                    let message = format!("column {of}.{folded} does not exist");
                    Err(self.places.mark(SqlError::new(SqlState::UndefinedColumn, message), place))
                }
            };
        }
        self.field(self.expression(root)?, place, name)
    }

    /// The field of a record.
    pub(super) fn field(&self, record: Expression, place: Place<'_>, name: &Ident) -> Result<Expression, SqlError> {
        if name.value == WHOLE_ROW {
            return Err(SqlError::unsupported("row expansion via \"*\" is not supported here"));
        }
        let name = fold(name);
        let mark = |state, message| Err(self.places.mark(SqlError::new(state, message), place));
        if record.sql_type.id != TypeId::RECORD {
            let of = type_name(record.sql_type.id);
            let message = format!("column notation .{name} applied to type {of}, which is not a composite type");
            return mark(SqlState::WrongObjectType, message);
        }
        let known = self.statement.record_types.of(record.sql_type);
        let found =
            known.iter().flat_map(|known| known.fields.iter().enumerate()).find(|(_, field)| *field.name == *name);
        match found {
            Some((at, field)) => Ok(field_at(record, at, field.sql_type)),
            None => {
                mark(SqlState::UndefinedColumn, format!("could not identify column \"{name}\" in record data type"))
            }
        }
    }

    /// The fields of `t.*` and of `(root).*`, with their names. Parentheses around them change nothing.
    pub(super) fn fields_of_star(&self, syntax: &Expr) -> Result<Option<Vec<(String, Expression)>>, SqlError> {
        let syntax = without_parentheses(syntax);
        let star = match syntax {
            Expr::CompoundIdentifier(names) => self.relation_of_star(names)?,
            _ => None,
        };
        match (star, root_of_star(syntax)) {
            (Some((relation, origin)), _) => {
                let columns = relation.columns.iter().filter(|column| !column.is_hidden());
                Ok(Some(columns.map(|column| (column.name.clone(), self.reference(column, origin))).collect()))
            }
            (None, Some(root)) => self.fields_of(&root).map(Some),
            (None, None) => Ok(None),
        }
    }

    /// The fields of a record, with their names.
    fn fields_of(&self, root: &Expr) -> Result<Vec<(String, Expression)>, SqlError> {
        let place = place_of_root(root);
        if let Some((relation, origin)) = self.relation_of_row(root)? {
            let columns = relation.columns.iter().filter(|column| !column.is_hidden());
            return Ok(columns.map(|column| (column.name.clone(), self.reference(column, origin))).collect());
        }
        let record = self.expression(root)?;
        if record.sql_type.id != TypeId::RECORD {
            let message = format!("type {} is not composite", type_name(record.sql_type.id));
            return Err(self.places.mark(SqlError::new(SqlState::WrongObjectType, message), place));
        }
        let known = self.statement.record_types.of(record.sql_type);
        let known = known.ok_or_else(|| SqlError::unsupported("the fields of this record are not known"))?;
        if record.is_volatile() && !matches!(record.node, Node::OnRecord(RecordOperation::Make(_), _)) {
            return Err(SqlError::unsupported("the fields of a volatile expression are not supported"));
        }
        let fields = known.fields.iter().enumerate();
        Ok(fields.map(|(at, field)| (field.name.to_string(), field_at(record.clone(), at, field.sql_type))).collect())
    }

    /// `record IS NULL`, `record IS NOT NULL`
    pub(super) fn record_is_null(&self, record: Expression, is_null: bool) -> Expression {
        let operation = if is_null { RecordOperation::IsNull } else { RecordOperation::IsNotNull };
        truth(Node::OnRecord(operation, vec![record]))
    }
}

/// A type as clients know it: they do not know the numbers of records.
pub(super) fn without_record_number(sql_type: SqlType) -> SqlType {
    match sql_type.id {
        TypeId::RECORD | TypeId::RECORD_ARRAY => SqlType::of(sql_type.id),
        _ => sql_type,
    }
}

/// The expression before the star of `(root).*`.
fn root_of_star(syntax: &Expr) -> Option<Expr> {
    let Expr::CompoundFieldAccess { root, access_chain } = syntax else { return None };
    match access_chain.split_last()? {
        (AccessExpr::Dot(Expr::Identifier(name)), before) if name.value == WHOLE_ROW => Some(match before {
            [] => (**root).clone(),
            before => Expr::CompoundFieldAccess { root: root.clone(), access_chain: before.to_vec() },
        }),
        _ => None,
    }
}

/// Where an expression before a field begins.
pub(super) fn place_of_root(root: &Expr) -> Place<'_> {
    match without_parentheses(root) {
        array @ Expr::Array(_) => Place::Array(array),
        other => Place::Start(other),
    }
}

/// A field of a record: of one that is made here, the value that it is made of.
fn field_at(record: Expression, at: usize, sql_type: SqlType) -> Expression {
    match record.node {
        Node::OnRecord(RecordOperation::Make(_), mut values) => values.swap_remove(at),
        _ => Expression { node: Node::OnRecord(RecordOperation::Field(at), vec![record]), sql_type },
    }
}
