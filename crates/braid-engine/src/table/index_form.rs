//! What an index is of: columns and expressions in their orders, INCLUDE, and a condition.
//!
//! An index that is a list of columns in ascending order has no form. Texts have the names of columns without that of the table, and follow
//! these names.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use braid_base::ColumnId;
use braid_catalog::column_types::column_type_of;
use braid_sql::syntax::WHOLE_ROW;
use braid_sql::types::type_names::format_type;
use braid_storage::{ColumnType, KEY_COLUMNS_MAX, KeyForm, KeyMember, MemberSource, TableDef, is_key_type};
use sqlparser::ast::{CreateIndex, Expr, IndexColumn, visit_expressions};

use super::definition::condition_text;
use super::indexes::pattern_class_of;
use super::keys::check_key_type;
use crate::column_names::{renamed, without_table};
use crate::front_end::{IndexExpression, IndexRole, StatementFacts, index_syntax};
use crate::names::fold;
use crate::statement_context::StatementContext;
use crate::{EngineError, SqlState};

/// The form of an index, and the columns that it reads.
#[derive(Debug)]
pub(super) struct WrittenForm {
    pub form: KeyForm,
    /// Those of an ordinary key in its order; of a computed one ascending.
    pub columns: Vec<ColumnId>,
}

/// What an index is of, if it is not a list of different columns in ascending order.
///
/// # Errors
/// Those of expressions; for columns that there are not, types that keys cannot have, and too many members.
pub(super) fn written_form(
    context: &StatementContext,
    def: &TableDef,
    create: &CreateIndex,
) -> Result<Option<WrittenForm>, EngineError> {
    if create.predicate.is_none()
        && create.include.is_empty()
        && create.columns.iter().all(is_plain)
        && !has_twice(create)
    {
        return Ok(None);
    }
    let writer = FormWriter { context, def: Arc::new(def.clone()), is_unique: create.unique };
    let (mut columns, mut read) = (Vec::new(), BTreeSet::new());
    let mut members = Vec::with_capacity(create.columns.len());
    for column in &create.columns {
        let member = writer.member(column, &mut read)?;
        if let MemberSource::Column(id) = member.source {
            columns.push(id);
        }
        members.push(member);
    }
    let condition = create.predicate.as_ref().map(|condition| writer.condition(condition, &mut read)).transpose()?;
    let included = create.include.iter().map(|name| writer.column(&fold(name)));
    let included = included.collect::<Result<Vec<_>, EngineError>>()?;
    if members.len() + included.len() > KEY_COLUMNS_MAX {
        let message = format!("cannot use more than {KEY_COLUMNS_MAX} columns in an index");
        return Err(EngineError::new(SqlState::TooManyColumns, message));
    }
    let mut form = KeyForm { members, included, condition };
    if form.is_computed() {
        columns = read.into_iter().map(|at| def.columns[at].id).collect();
        columns.sort_unstable();
    } else if columns.iter().enumerate().any(|(at, column)| columns[..at].contains(column)) {
        return Err(EngineError::unsupported("an index that has a column twice is not supported"));
    }
    name_members(def, &mut form);
    Ok(Some(WrittenForm { form, columns }))
}

/// Whether a member is a column in ascending order, nulls last.
fn is_plain(column: &IndexColumn) -> bool {
    let options = &column.column.options;
    let is_ascending = options.asc != Some(false) && options.nulls_first != Some(true);
    is_ascending && matches!(column.column.expr, Expr::Identifier(_))
}

fn has_twice(create: &CreateIndex) -> bool {
    let name = |column: &IndexColumn| match &column.column.expr {
        Expr::Identifier(name) => Some(fold(name)),
        _ => None,
    };
    let names: Vec<String> = create.columns.iter().filter_map(name).collect();
    names.iter().enumerate().any(|(at, name)| names[..at].contains(name))
}

/// Reads what an index is of.
struct FormWriter<'a> {
    context: &'a StatementContext,
    def: Arc<TableDef>,
    is_unique: bool,
}

impl FormWriter<'_> {
    fn column(&self, name: &str) -> Result<ColumnId, EngineError> {
        let unknown = || EngineError::new(SqlState::UndefinedColumn, format!("column \"{name}\" does not exist"));
        self.def.column(name).map(|(id, _)| id).ok_or_else(unknown)
    }

    fn member(&self, written: &IndexColumn, read: &mut BTreeSet<usize>) -> Result<KeyMember, EngineError> {
        let options = &written.column.options;
        let descends = options.asc == Some(false);
        let nulls_first = options.nulls_first.unwrap_or(descends);
        if written.column.with_fill.is_some() {
            return Err(EngineError::new(SqlState::SyntaxError, "syntax error at or near \"WITH\""));
        }
        let (source, shown, column_type) = match &written.column.expr {
            Expr::Identifier(name) => {
                let (name, id) = (fold(name), self.column(&fold(name))?);
                let column = self.def.column_by_id(id).ok_or_else(|| EngineError::internal("a column is gone"))?;
                if self.is_unique {
                    check_key_type(&name, column)?;
                }
                read.extend(self.def.position(id));
                (MemberSource::Column(id), name, column.column_type)
            }
            syntax @ (Expr::Nested(_) | Expr::Function(_)) => self.expression(syntax, read)?,
            // PostgreSQL's grammar has functions, some with syntax of their own, and else expressions in parentheses.
            syntax @ (Expr::Substring { .. } | Expr::Trim { .. } | Expr::Extract { .. } | Expr::Position { .. }) => {
                self.expression(syntax, read)?
            }
            Expr::Collate { .. } => return Err(EngineError::unsupported("COLLATE in an index is not supported")),
            other => {
                let message =
                    format!("an index is of columns, functions, and expressions in parentheses, not of {other}");
                return Err(EngineError::new(SqlState::SyntaxError, message));
            }
        };
        let for_patterns = match &written.operator_class {
            Some(class) => pattern_class_of(class, &shown, column_type)?,
            None => false,
        };
        Ok(KeyMember { source, descends, nulls_first, for_patterns })
    }

    /// A member that is an expression, how it is shown, and its type.
    fn expression(
        &self,
        syntax: &Expr,
        read: &mut BTreeSet<usize>,
    ) -> Result<(MemberSource, String, ColumnType), EngineError> {
        let text = self.text(syntax)?;
        // One in parentheses may be a column.
        if let Expr::Identifier(name) = index_syntax(&text)?
            && let Some((id, column)) = self.def.column(&fold(&name))
        {
            let column_type = column.column_type;
            read.extend(self.def.position(id));
            if self.is_unique {
                check_key_type(&fold(&name), column)?;
            }
            return Ok((MemberSource::Column(id), fold(&name), column_type));
        }
        let bound = IndexExpression::bind(self.context, &self.def, IndexRole::Member, &text)?;
        bound.check_constants(&text)?;
        read.extend(bound.columns());
        let column_type = self.type_of(&bound)?;
        // As it is shown: all but functions in parentheses.
        let text = match index_syntax(&text)? {
            Expr::Function(_) => text,
            _ => format!("({text})"),
        };
        let name = bound.name().to_owned();
        Ok((MemberSource::Expression { text: text.clone(), name, column_type }, text, column_type))
    }

    /// The type of a member that is an expression.
    fn type_of(&self, bound: &IndexExpression) -> Result<ColumnType, EngineError> {
        let unsupported = || {
            let shown = format_type(bound.sql_type());
            EngineError::unsupported(format!("an index of an expression of type {shown} is not supported"))
        };
        let column_type = column_type_of(bound.sql_type()).ok_or_else(unsupported)?;
        match matches!(column_type, ColumnType::Enum(_)) || self.is_unique && !is_key_type(column_type) {
            true => Err(unsupported()),
            false => Ok(column_type),
        }
    }

    fn condition(&self, syntax: &Expr, read: &mut BTreeSet<usize>) -> Result<String, EngineError> {
        let text = self.text(syntax)?;
        let bound = IndexExpression::bind(self.context, &self.def, IndexRole::Condition, &text)?;
        bound.check_constants(&text)?;
        read.extend(bound.columns());
        Ok(text)
    }

    fn text(&self, syntax: &Expr) -> Result<String, EngineError> {
        let mut syntax = syntax.clone();
        if names_row(&syntax, &self.def) {
            return Err(EngineError::unsupported("whole rows in an index are not supported"));
        }
        without_table(&mut syntax, &self.context.schema_name(self.def.schema), &self.def.name);
        condition_text(&syntax, &StatementFacts::of(self.context))
    }
}

/// Whether an expression has the table's row: it would follow neither columns that are added nor a new name of the table.
fn names_row(syntax: &Expr, def: &TableDef) -> bool {
    let is_row = |syntax: &Expr| match syntax {
        Expr::Identifier(name) => fold(name) == def.name && def.column(&def.name).is_none(),
        Expr::CompoundIdentifier(parts) => parts.last().is_some_and(|part| part.value == WHOLE_ROW),
        Expr::Wildcard(_) | Expr::QualifiedWildcard(..) => true,
        _ => false,
    };
    let found = visit_expressions(syntax, |syntax| match is_row(syntax) {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    });
    found.is_break()
}

/// Gives members different names, as PostgreSQL does.
fn name_members(def: &TableDef, form: &mut KeyForm) {
    let mut taken: Vec<String> = Vec::new();
    for member in &mut form.members {
        match &mut member.source {
            MemberSource::Column(id) => taken.extend(def.column_by_id(*id).map(|column| column.name.clone())),
            MemberSource::Expression { name, .. } => {
                let mut free = name.clone();
                for number in 1.. {
                    if !taken.contains(&free) {
                        break;
                    }
                    free = format!("{name}{number}");
                }
                name.clone_from(&free);
                taken.push(free);
            }
        }
    }
}

/// The names of an index's members and included columns, which its own is made of.
pub(super) fn member_names(def: &TableDef, form: &KeyForm) -> Vec<String> {
    let column = |id: &ColumnId| def.column_by_id(*id).map_or_else(String::new, |column| column.name.clone());
    let member = |member: &KeyMember| match &member.source {
        MemberSource::Column(id) => column(id),
        MemberSource::Expression { name, .. } => name.clone(),
    };
    form.members.iter().map(member).chain(form.included.iter().map(column)).collect()
}

/// The form of an index in which a column has another name.
///
/// # Errors
/// When a text does not parse.
pub(super) fn form_with_renamed_column(form: &KeyForm, from: &str, to: &str) -> Result<KeyForm, EngineError> {
    let renamed = |text: &str| Ok::<_, EngineError>(renamed(index_syntax(text)?, from, to).to_string());
    let mut form = form.clone();
    for member in &mut form.members {
        if let MemberSource::Expression { text, .. } = &mut member.source {
            *text = renamed(text)?;
        }
    }
    form.condition = form.condition.as_deref().map(renamed).transpose()?;
    Ok(form)
}

/// The form of an index of a table in which columns have other types.
///
/// # Errors
/// For expressions that are none with these types, and types that keys cannot have.
pub(super) fn form_with_new_types(
    context: &StatementContext,
    def: &TableDef,
    (form, is_unique): (&KeyForm, bool),
) -> Result<KeyForm, EngineError> {
    let writer = FormWriter { context, def: Arc::new(def.clone()), is_unique };
    let mut form = form.clone();
    for member in &mut form.members {
        match &mut member.source {
            MemberSource::Column(id) => {
                if let Some(column) = def.column_by_id(*id).filter(|_| is_unique) {
                    check_key_type(&column.name, column)?;
                }
            }
            MemberSource::Expression { text, column_type, .. } => {
                let bound = IndexExpression::bind(context, &writer.def, IndexRole::Member, text)?;
                bound.check_constants(text)?;
                *column_type = writer.type_of(&bound)?;
            }
        }
    }
    if let Some(text) = &form.condition {
        IndexExpression::bind(context, &writer.def, IndexRole::Condition, text)?.check_constants(text)?;
    }
    Ok(form)
}

/// The form of an index of a table whose columns have the same names and other ids.
pub(super) fn form_with_columns(form: &KeyForm, id_of: impl Fn(ColumnId) -> ColumnId) -> KeyForm {
    let mut form = form.clone();
    for member in &mut form.members {
        if let MemberSource::Column(id) = &mut member.source {
            *id = id_of(*id);
        }
    }
    form.included.iter_mut().for_each(|id| *id = id_of(*id));
    form
}
