//! What names mean in a query: the relations of its FROM, its common table expressions, and those of the queries around it.

use std::cell::RefCell;
use std::rc::Rc;

use sqlparser::ast::{Ident, NamedWindowDefinition};
use sqlparser::tokenizer::Location;

use super::system_columns::SystemColumn;
use crate::binder::clause::Clause;
use crate::binder::places::Place;
use crate::binder::{Binder, fold};
use crate::expression::{Expression, Node, Origin};
use crate::relation::{AggregateCall, ColumnId, CteId, SetFunctionCall, Windowing};
use crate::tables::{COMPUTED, PAIR_NUMBERS, ROW_IDS, TableColumn};
use crate::{SqlError, SqlState, SqlType};

/// Columns that all tables have in PostgreSQL.
const SYSTEM_COLUMNS: &[&str] = &["tableoid", "ctid", "xmin", "xmax", "cmin", "cmax"];

/// The names of one query, while it is bound.
#[derive(Debug)]
pub(in crate::binder) struct Scope<'p> {
    /// The query around it.
    pub parent: Option<&'p Scope<'p>>,
    /// The clause of that query in which this one stands.
    pub parent_clause: Clause,
    /// What FROM has, as far as it is bound.
    pub relations: Vec<ScopeRelation>,
    /// The common table expressions of its WITH.
    pub common_tables: Vec<Rc<CommonTable>>,
    /// Names of its WITH that are not defined yet and cannot be referred to.
    pub future_tables: Vec<String>,
    /// The windows of its WINDOW clause.
    pub windows: &'p [NamedWindowDefinition],
    /// The calls of its expressions that operators compute.
    pub calls: RefCell<Calls>,
}

/// Calls of aggregates, window functions and set-returning functions in the expressions of a query, each with the columns that stand for it.
#[derive(Debug, Default)]
pub(in crate::binder) struct Calls {
    pub aggregates: Vec<(ColumnId, AggregateCall)>,
    /// `GROUPING(…)`: the arguments, which must be keys.
    pub groupings: Vec<(ColumnId, Vec<Expression>)>,
    /// Without inputs.
    pub windows: Vec<Windowing>,
    pub sets: Vec<SetFunctionCall>,
}

/// A relation of FROM.
#[derive(Clone, Debug)]
pub(in crate::binder) struct ScopeRelation {
    /// The schema of a table that has no alias.
    pub schema: Option<String>,
    /// Its alias or name; `None` for a join without alias.
    pub name: Option<String>,
    pub columns: Vec<ScopeColumn>,
    /// The names of its row's fields, if they are not those of the columns: an alias does not rename those of a table.
    pub fields: Option<Vec<String>>,
    /// The columns of its row under the names of its fields, if they are not those that its name means: a row has the columns that
    /// its table has now, whenever the name was written.
    pub row: Option<Vec<ScopeColumn>>,
    /// Whether its columns can be named without it: not those of the sides of a join with USING.
    pub has_visible_columns: bool,
    /// Whether it is a join with USING under the name that stands there.
    pub is_named_join: bool,
    /// Whether it can be named here.
    pub access: Access,
    /// The number of the table.
    pub table: Option<u64>,
    /// Its primary key as positions of columns.
    pub primary_key: Vec<usize>,
    /// The column that is true where its row is there, and null where an outer join found none; `None` if no call may ask that.
    pub presence: Option<ColumnId>,
    /// The system columns that expressions may read.
    pub system_columns: Vec<SystemColumn>,
    /// The recursion, of whose step before it is the rows.
    pub last_step: Option<CteId>,
}

/// Whether a relation of FROM can be named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::binder) enum Access {
    /// It can.
    Visible,
    /// It stands to the left, but here is no LATERAL; or it is within a join that has an alias.
    Hidden,
    /// It is on the left of a join that is neither INNER nor LEFT, where LATERAL cannot refer to it.
    OutsideOfJoin,
    /// It is the table that the statement changes, which LATERAL cannot refer to.
    Changed,
}

/// A column of a relation.
#[derive(Clone, Debug)]
pub(in crate::binder) struct ScopeColumn {
    pub name: String,
    pub id: ColumnId,
    pub sql_type: SqlType,
}

/// A common table expression.
#[derive(Debug)]
pub(in crate::binder) struct CommonTable {
    pub name: String,
    /// `None` for one that stands further down in WITH RECURSIVE, or that cannot be referred to here.
    pub cte: Option<CteId>,
    pub columns: Vec<TableColumn>,
    /// Whether it is a recursion that is referred to from its step.
    pub is_last_step: bool,
    /// Why it cannot be referred to, if there is more to say than that it is unsupported.
    pub refusal: Option<SqlError>,
    /// Where it is referred to.
    pub references: RefCell<Vec<Option<Location>>>,
}

impl ScopeColumn {
    /// Whether no text can name it: it is none of the columns of its row.
    pub fn is_hidden(&self) -> bool {
        self.name.starts_with('\0')
    }

    /// The column as an expression.
    pub fn expression(&self, place: Origin) -> Expression {
        Expression { node: Node::Column(self.id, place), sql_type: self.sql_type }
    }
}

impl ScopeRelation {
    /// Refuses a relation that LATERAL cannot refer to here.
    fn check_access(&self) -> Result<(), SqlError> {
        let name = self.name.as_deref().unwrap_or("unnamed_join");
        let refused = || {
            let message = format!("invalid reference to FROM-clause entry for table \"{name}\"");
            SqlError::new(SqlState::InvalidColumnReference, message)
        };
        match self.access {
            Access::Visible | Access::Hidden => Ok(()),
            Access::OutsideOfJoin => {
                let detail = "The combining JOIN type must be INNER or LEFT for a LATERAL reference.";
                Err(refused().with_detail(detail))
            }
            Access::Changed => Err(refused().with_hint(cannot_be_referenced(name))),
        }
    }

    /// Whether it has the rows that ON CONFLICT proposes. The rows that it changes may have the same name.
    pub(super) fn has_proposed_rows(&self) -> bool {
        self.columns.iter().any(|column| column.name == PAIR_NUMBERS)
    }

    /// Whether it has the identities of the rows of another one.
    pub fn is_of_identities(&self) -> bool {
        self.name.as_ref().is_some_and(|name| name.starts_with(ROW_IDS))
    }

    /// Its columns, also those that `*` does not mean.
    pub fn all_columns(&self) -> impl Iterator<Item = &ScopeColumn> {
        self.columns.iter().chain(self.system_columns.iter().map(|own| &own.column))
    }

    /// Whether a column is one of it, or tells of its row.
    pub fn has(&self, column: ColumnId) -> bool {
        self.presence == Some(column) || self.all_columns().any(|own| own.id == column)
    }

    /// The same, whose row keeps these names of its fields under an alias.
    #[must_use]
    pub fn with_own_fields(self) -> Self {
        let fields = Some(self.columns.iter().map(|column| column.name.clone()).collect());
        Self { fields, ..self }
    }

    /// The columns of its row, and the names of the fields.
    pub fn row_fields(&self) -> impl Iterator<Item = (&str, &ScopeColumn)> {
        let columns = self.row.as_ref().unwrap_or(&self.columns);
        let fields = self.fields.as_ref().filter(|_| self.row.is_none());
        columns.iter().enumerate().map(move |(at, column)| match fields {
            Some(fields) => (fields[at].as_str(), column),
            None => (column.name.as_str(), column),
        })
    }

    /// A relation of a name.
    pub fn named(name: String, columns: Vec<ScopeColumn>) -> Self {
        Self {
            schema: None,
            name: Some(name),
            columns,
            fields: None,
            row: None,
            has_visible_columns: true,
            is_named_join: false,
            access: Access::Visible,
            table: None,
            primary_key: Vec::new(),
            presence: None,
            system_columns: Vec::new(),
            last_step: None,
        }
    }
}

impl<'p> Scope<'p> {
    /// The scope of a query within `binder`'s clause.
    pub fn within(binder: &Binder<'p>) -> Self {
        Self {
            parent: binder.scope,
            parent_clause: binder.clause,
            relations: Vec::new(),
            common_tables: Vec::new(),
            future_tables: Vec::new(),
            windows: &[],
            calls: RefCell::default(),
        }
    }

    /// The same query's names with these relations.
    pub fn with_relations(&self, relations: Vec<ScopeRelation>) -> Self {
        Self {
            parent: self.parent,
            parent_clause: self.parent_clause,
            relations,
            common_tables: self.common_tables.clone(),
            future_tables: self.future_tables.clone(),
            windows: self.windows,
            calls: RefCell::default(),
        }
    }

    /// The same names, for what stands in FROM with LATERAL: the table that the statement changes, before the identities of its rows, is none
    /// of them.
    pub fn lateral(&self) -> Self {
        let mut relations = self.relations.clone();
        let identities = relations.iter().position(|relation| relation.name.as_deref() == Some(ROW_IDS));
        if let Some(changed) = identities.and_then(|at| at.checked_sub(1)) {
            relations[changed].access = Access::Changed;
        }
        self.with_relations(relations)
    }

    /// The same names, none of whose relations can be named: for what stands in FROM without LATERAL.
    pub fn hidden(&self) -> Self {
        let hide = |relation: &ScopeRelation| ScopeRelation { access: Access::Hidden, ..relation.clone() };
        self.with_relations(self.relations.iter().map(hide).collect())
    }

    /// The common table expression that a name means: the last one of the innermost query.
    pub fn common_table(&self, name: &str) -> Option<&CommonTable> {
        let mut scopes = std::iter::successors(Some(self), |scope| scope.parent);
        scopes.find_map(|scope| scope.common_tables.iter().rev().find(|table| table.name == name)).map(|table| &**table)
    }

    /// Whether a name is that of a common table expression further down.
    pub fn is_future_table(&self, name: &str) -> bool {
        let mut scopes = std::iter::successors(Some(self), |scope| scope.parent);
        scopes.any(|scope| scope.future_tables.iter().any(|other| other == name))
    }

    /// The columns that `*` means.
    pub fn visible_columns(&self) -> impl Iterator<Item = &ScopeColumn> {
        visible_columns(&self.relations)
    }

    /// Whether a column belongs to a relation of this query.
    pub fn owns(&self, column: ColumnId) -> bool {
        self.relations.iter().any(|relation| relation.has(column))
    }

    /// The columns of the aggregates of this query.
    pub fn is_aggregate(&self, column: ColumnId) -> bool {
        let calls = self.calls.borrow();
        calls.aggregates.iter().any(|(own, _)| *own == column) || calls.groupings.iter().any(|(own, _)| *own == column)
    }

    /// Whether a column is computed by a window function of this query.
    pub fn is_window(&self, column: ColumnId) -> bool {
        self.calls.borrow().windows.iter().flat_map(|window| &window.calls).any(|(own, _)| *own == column)
    }

    /// Whether a column is of a set-returning function in this query's expressions.
    pub fn is_set(&self, column: ColumnId) -> bool {
        self.calls.borrow().sets.iter().any(|call| call.columns().contains(&column))
    }

    /// What the select list is: of a query over the rows that a statement changes, their new values.
    pub fn clause_of_select_list(&self) -> Clause {
        let has = |name: &str| self.relations.iter().any(|relation| relation.name.as_deref() == Some(name));
        let has_pairs = || self.relations.iter().any(ScopeRelation::has_proposed_rows);
        match (has(ROW_IDS) || has_pairs(), has(COMPUTED)) {
            (true, _) => Clause::Update,
            // The new rows of a MERGE.
            (false, true) => Clause::Values,
            (false, false) => Clause::SelectList,
        }
    }
}

/// The columns that `*` means.
pub(super) fn visible_columns(relations: &[ScopeRelation]) -> impl Iterator<Item = &ScopeColumn> {
    let visible =
        relations.iter().filter(|relation| relation.has_visible_columns && relation.access == Access::Visible);
    visible.flat_map(|relation| &relation.columns)
}

impl<'a> Binder<'a> {
    /// This binder for another clause of the same query.
    pub(in crate::binder) fn within(&self, clause: Clause) -> Self {
        Self { clause, ..*self }
    }

    /// This binder with the names of a scope.
    pub(super) fn in_scope<'s>(&self, scope: &'s Scope<'s>, clause: Clause) -> Binder<'s>
    where
        'a: 's,
    {
        Binder { scope: Some(scope), clause, ..*self }
    }

    /// The scopes from this query's to the outermost one's.
    pub(in crate::binder) fn scopes(&self) -> impl Iterator<Item = &'a Scope<'a>> {
        std::iter::successors(self.scope, |scope| scope.parent)
    }

    /// A column by its name.
    pub(in crate::binder) fn column(&self, names: &[Ident]) -> Result<Expression, SqlError> {
        let place = Place::of(names.first());
        if self.clause == Clause::Default {
            let error = SqlError::unsupported("cannot use column reference in DEFAULT expression");
            return Err(self.places.mark(error, place));
        }
        let origin = Origin(names.first().map(|name| name.span.start));
        if let Some((relation, origin)) = self.relation_of_star(names)? {
            return self.relation_row(relation, origin);
        }
        let folded: Vec<String> = names.iter().map(fold).collect();
        let found = match &folded[..] {
            [name] => self.column_named(name),
            [relation, name] => self.column_of(None, relation, name),
            [schema, relation, name] => self.column_of(Some(schema), relation, name),
            [database, schema, relation, name] if *database == self.session.database() => {
                self.column_of(Some(schema), relation, name)
            }
            _ => Err(SqlError::unsupported("references to other databases are not supported")),
        };
        match found {
            Ok(column) => Ok(self.reference(column, origin)),
            Err(error) => match self.relation_of_names(names)? {
                Some((relation, origin)) => self.relation_row(relation, origin),
                None => Err(self.places.mark(error, place)),
            },
        }
    }

    fn column_named(&self, name: &str) -> Result<&'a ScopeColumn, SqlError> {
        for scope in self.scopes() {
            let visible = scope
                .relations
                .iter()
                .filter(|relation| relation.has_visible_columns && relation.access != Access::Hidden);
            let of_relation =
                |relation: &'a ScopeRelation| relation.all_columns().map(move |column| (relation, column));
            let mut found = visible.flat_map(of_relation).filter(|(_, column)| column.name == name);
            match (found.next(), found.next()) {
                (Some(_), Some(_)) => {
                    let message = format!("column reference \"{name}\" is ambiguous");
                    return Err(SqlError::new(SqlState::AmbiguousColumn, message));
                }
                (Some((relation, column)), None) => {
                    relation.check_access()?;
                    return Ok(column);
                }
                (None, _) => {}
            }
        }
        if SYSTEM_COLUMNS.contains(&name) {
            return Err(self.system_column(name));
        }
        Err(self.no_column(None, name))
    }

    fn column_of(&self, schema: Option<&str>, relation: &str, name: &str) -> Result<&'a ScopeColumn, SqlError> {
        let found = self.relation_named(schema, relation)?;
        let mut columns = found.all_columns().filter(|column| column.name == name);
        match (columns.next(), columns.next()) {
            (Some(column), None) => Ok(column),
            (Some(_), Some(_)) => {
                let message = format!("column reference \"{name}\" is ambiguous");
                Err(SqlError::new(SqlState::AmbiguousColumn, message))
            }
            (None, _) if SYSTEM_COLUMNS.contains(&name) && found.table.is_some() => Err(self.system_column(name)),
            (None, _) => Err(self.no_column(Some(relation), name)),
        }
    }

    /// Why a system column cannot be read.
    fn system_column(&self, name: &str) -> SqlError {
        // PostgreSQL computes generated columns of this one.
        if self.clause == Clause::Generation && name != "tableoid" {
            let message = format!("cannot use system column \"{name}\" in column generation expression");
            return SqlError::new(SqlState::InvalidColumnReference, message);
        }
        SqlError::unsupported("system columns are not supported")
    }

    /// The relation of FROM that a name means.
    pub(in crate::binder) fn relation_named(
        &self,
        schema: Option<&str>,
        name: &str,
    ) -> Result<&'a ScopeRelation, SqlError> {
        for scope in self.scopes() {
            let is_meant = |relation: &&ScopeRelation| {
                relation.name.as_deref() == Some(name)
                    && (schema.is_none() || relation.schema.as_deref() == schema)
                    && relation.access != Access::Hidden
            };
            let mut found = scope.relations.iter().filter(is_meant);
            match (found.next(), found.next()) {
                (Some(_), Some(_)) => {
                    let message = format!("table reference \"{name}\" is ambiguous");
                    return Err(SqlError::new(SqlState::AmbiguousAlias, message));
                }
                (Some(relation), None) => {
                    relation.check_access()?;
                    return Ok(relation);
                }
                (None, _) => {}
            }
        }
        Err(self.no_relation(schema, name))
    }

    /// Why a name means no relation: FROM lacks it, or it is there under another name, or cannot be named here.
    fn no_relation(&self, schema: Option<&str>, name: &str) -> SqlError {
        let state = SqlState::UndefinedTable;
        let table = self.tables.table(schema, name).ok().flatten().map(|table| table.id);
        let is_alike = |relation: &&ScopeRelation| {
            relation.name.as_deref() == Some(name) || (table.is_some() && relation.table == table)
        };
        let relations = || self.scopes().flat_map(|scope| &scope.relations).filter(|relation| !relation.is_named_join);
        let Some(alike) = relations().find(is_alike) else {
            return SqlError::new(state, format!("missing FROM-clause entry for table \"{name}\""));
        };
        let error = SqlError::new(state, format!("invalid reference to FROM-clause entry for table \"{name}\""));
        let shown = alike.name.as_deref().unwrap_or(name);
        error.with_hint(match shown != name && alike.access == Access::Visible {
            true => format!("Perhaps you meant to reference the table alias \"{shown}\"."),
            false => cannot_be_referenced(shown),
        })
    }

    /// A new column.
    pub(super) fn new_column(&self, name: impl Into<String>, sql_type: SqlType) -> ColumnId {
        self.statement.columns.borrow_mut().add(name, sql_type)
    }

    /// A number for a common table expression.
    pub(super) fn new_cte(&self) -> CteId {
        let count = self.statement.cte_count.get();
        self.statement.cte_count.set(count + 1);
        CteId(count)
    }
}

/// The hint of an error for a relation of FROM that LATERAL or a subquery does not see.
fn cannot_be_referenced(name: &str) -> String {
    format!("There is an entry for table \"{name}\", but it cannot be referenced from this part of the query.")
}
