//! Syntax into expressions with types, as PostgreSQL's parser analysis does it.
//!
//! Names are looked up, literals read, operators and functions chosen by the types of their arguments, and casts added, so that what
//! comes out needs no further decision. Errors have PostgreSQL's SQLSTATE, words and place. What PostgreSQL has and Braid has not is
//! refused with SQLSTATE 0A000.
//!
//! | module | contents |
//! |---|---|
//! | [`calls`] | functions, in all notations |
//! | [`spreading`] | arrays as arguments |
//! | [`special_syntax`] | `EXTRACT`, `TRIM`, `LIKE`, `AT TIME ZONE`, … as calls |
//! | [`session_values`] | `current_date`, `current_user` and the like |
//! | [`conditionals`] | CASE, COALESCE, NULLIF, GREATEST, LEAST, ARRAY |
//! | [`operators`] | operators, comparisons, IN, ANY, AND, OR, NOT |
//! | [`chains`] | long chains of operators |
//! | [`repeated_operand`] | what BETWEEN and IN compare several times |
//! | [`casts`] | what is added where types differ |
//! | [`domains`] | casts to domains |
//! | [`query`] | queries |
//! | [`clause`] | the clauses of a query, and what they may not contain |
//! | [`records`] | rows as values |
//! | [`references`] | the relations and columns that a statement names |
//! | [`subscripts`] | subscripts and slices of arrays |
//! | [`collations`] | COLLATE |
//! | [`overlaps`] | OVERLAPS |
//! | [`literals`] | numbers, strings, signs |
//! | [`parameters`] | `$1` and its type |
//! | [`varying_literals`] | literals that a plan has as parameters |
//! | [`type_syntax`] | the names of types |
//! | [`places`] | places in the statement's text |
//! | [`precedence`] | trees that bind as PostgreSQL's grammar does |

mod calls;
mod casts;
mod chains;
mod clause;
mod collations;
mod conditionals;
pub mod domains;
mod executed_arguments;
mod literals;
mod operators;
mod overlaps;
mod parameters;
mod places;
pub mod precedence;
mod query;
mod records;
mod references;
mod repeated_operand;
mod session_values;
mod special_syntax;
mod spreading;
mod subscripts;
mod type_syntax;
mod varying_literals;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use sqlparser::ast::{AccessExpr, Expr, Ident};
use sqlparser::tokenizer::Location;

use crate::expression::{Expression, Node};
use crate::functions::{Function, SessionFacts};
use crate::pg_catalog::{CastContext, FunctionEntry, TypeId};
use crate::relation::{Columns, CteId};
use crate::syntax::{ROW, SYMMETRIC};
use crate::tables::Tables;
use crate::{SqlError, SqlState, SqlType};
use clause::Clause;
use parameters::Parameters;
use places::{Place, Places};
pub use query::assignment::AssignedColumn;
pub use query::output_names::only_column_name;
pub use query::returning::{ReturnedRows, Returning};
pub use query::row_expressions::RowExpression;
use query::scope::{Scope, ScopeRelation};
use query::whole_rows::RowNames;
use records::{RecordTypes, without_record_number};
pub use references::Referenced;
use references::References;
pub use type_syntax::type_of_syntax;
use varying_literals::VaryingLiterals;
pub use varying_literals::{VaryingKind, VaryingLiteral};

/// What binding a statement needs from its beginning to its end.
#[derive(Debug)]
pub struct Statement<'a> {
    session: &'a dyn SessionFacts,
    places: Places<'a>,
    tables: &'a dyn Tables,
    /// The collation that COLLATE named so far.
    collation: Cell<Option<&'static str>>,
    columns: RefCell<Columns>,
    cte_count: Cell<u32>,
    /// The views around what is being bound.
    view_depth: Cell<u32>,
    /// Recursions whose steps have aggregates of the rows of the step before.
    aggregated_steps: RefCell<BTreeMap<CteId, Option<Location>>>,
    /// The relations of the query over the rows that the statement changes, for RETURNING.
    changed_relations: RefCell<Vec<ScopeRelation>>,
    row_names: RowNames,
    /// `None` where nobody asks for them.
    references: Option<References>,
    record_types: RecordTypes,
    /// `None` where the caller has no parameters.
    parameters: Option<Parameters>,
    varying: VaryingLiterals,
}

impl<'a> Statement<'a> {
    /// The statement `text`, of which queries and expressions are parsed. Literals are read in `session`.
    pub fn new(text: &'a str, session: &'a dyn SessionFacts, tables: &'a dyn Tables) -> Self {
        let (columns, cte_count, view_depth, aggregated_steps, row_names, varying) = Default::default();
        let changed_relations = RefCell::default();
        let record_types = RecordTypes::default();
        let collation = Cell::new(None);
        let (places, parameters, references) = (Places::new(text), None, None);
        Self {
            session,
            places,
            tables,
            collation,
            columns,
            cte_count,
            view_depth,
            aggregated_steps,
            changed_relations,
            row_names,
            references,
            record_types,
            parameters,
            varying,
        }
    }

    /// A binder of expressions outside of queries.
    pub fn binder(&self) -> Binder<'_> {
        let Self { session, tables, places, .. } = *self;
        let (searched, scope, clause) = (None, None, Clause::None);
        Binder { statement: self, session, tables, searched, places, scope, clause }
    }

    /// What is known of its columns.
    pub fn into_columns(self) -> Columns {
        self.columns.into_inner().with_record_types(self.record_types.into_inner())
    }
}

/// Binds the expressions of one clause of a statement.
#[derive(Clone, Copy, Debug)]
pub struct Binder<'a> {
    statement: &'a Statement<'a>,
    session: &'a dyn SessionFacts,
    tables: &'a dyn Tables,
    /// The schema of names without one; `None` where the tables know.
    searched: Option<&'static str>,
    places: Places<'a>,
    scope: Option<&'a Scope<'a>>,
    clause: Clause,
}

/// An expression with its place.
type Placed<'s> = (Expression, Place<'s>);

impl<'a> Binder<'a> {
    /// An expression of a select list: a literal whose type nothing tells is a text.
    pub fn output_expression(&self, syntax: &Expr) -> Result<Expression, SqlError> {
        let bound = self.resolve_unknown(self.expression(syntax)?)?;
        self.statement.note_unknown(&bound);
        Ok(Expression { sql_type: without_record_number(bound.sql_type), ..bound })
    }

    /// [`Self::assigned_expression`] of a default.
    pub fn default_expression(&self, syntax: &Expr, target: SqlType) -> Result<Result<Expression, SqlType>, SqlError> {
        self.within(Clause::Default).assigned_expression(syntax, target)
    }

    /// An expression as it is stored in a column of this type; the type of the expression if it cannot be.
    pub fn assigned_expression(&self, syntax: &Expr, target: SqlType) -> Result<Result<Expression, SqlType>, SqlError> {
        let place = Place::Start(syntax);
        let coerced = self.coerced(self.expression(syntax)?, place, target, CastContext::Assignment)?;
        if let Ok(bound) = &coerced {
            self.statement.note_unknown(bound);
        }
        Ok(coerced.map_err(|refused| refused.sql_type))
    }

    /// An expression as it stands: a literal may be of type `unknown`.
    pub fn expression(&self, syntax: &Expr) -> Result<Expression, SqlError> {
        match syntax {
            Expr::Nested(inner) => self.expression(inner),
            Expr::Value(value) => self.literal(value),
            Expr::TypedString(typed) => self.typed_string(typed),
            Expr::Interval(interval) => self.interval_literal(interval),
            Expr::Prefixed { prefix, value } if prefix.value == ROW => self.expression(value),
            Expr::Tuple(members) => self.row(members),
            Expr::Prefixed { .. } => self.chain(syntax),
            Expr::Identifier(name) => self.name(name),
            Expr::CompoundIdentifier(names) => self.column(names),
            Expr::Exists { subquery, negated } => self.exists(subquery, *negated),
            Expr::Subquery(query) => self.scalar_subquery(query),
            Expr::InSubquery { expr, subquery, negated } => self.in_subquery(expr, subquery, *negated),
            Expr::UnaryOp { op, expr } => self.prefix(syntax, op, expr),
            Expr::BinaryOp { left, op, right } => self.binary(syntax, left, op, right),
            Expr::IsNull(operand) => self.is_null(operand, true),
            Expr::IsNotNull(operand) => self.is_null(operand, false),
            Expr::IsTrue(operand) => self.is_truth(operand, true, "IS TRUE"),
            Expr::IsNotTrue(operand) => Ok(negation(self.is_truth(operand, true, "IS NOT TRUE")?)),
            Expr::IsFalse(operand) => self.is_truth(operand, false, "IS FALSE"),
            Expr::IsNotFalse(operand) => Ok(negation(self.is_truth(operand, false, "IS NOT FALSE")?)),
            Expr::IsUnknown(operand) => self.is_unknown(operand, "IS UNKNOWN"),
            Expr::IsNotUnknown(operand) => Ok(negation(self.is_unknown(operand, "IS NOT UNKNOWN")?)),
            Expr::IsDistinctFrom(left, right) => self.distinct(left, right),
            Expr::IsNotDistinctFrom(left, right) => Ok(negation(self.distinct(left, right)?)),
            Expr::Between { expr, negated, low, high } => match &**low {
                Expr::Prefixed { prefix, value } if prefix.value == SYMMETRIC => {
                    self.between_symmetric(expr, value, high, *negated)
                }
                low => self.between(expr, low, high, *negated),
            },
            Expr::Collate { expr, collation } => self.collated(expr, collation),
            Expr::InList { expr, list, negated } => self.in_list(expr, list, *negated),
            Expr::AnyOp { left, compare_op, right, .. } => self.quantified(left, compare_op, right, false),
            Expr::AllOp { left, compare_op, right } => self.quantified(left, compare_op, right, true),
            Expr::Cast { .. } => self.cast_syntax(syntax),
            Expr::Case { operand, conditions, else_result, .. } => {
                self.case(operand.as_deref(), conditions, else_result.as_deref())
            }
            Expr::Array(array) => self.array(&array.elem),
            Expr::Function(function) => self.function(function),
            Expr::CompoundFieldAccess { root, access_chain } => self.field_access(syntax, root, access_chain),
            other => self.special(other),
        }
    }

    /// `IS NULL`, `IS NOT NULL`
    fn is_null(&self, syntax: &Expr, is_null: bool) -> Result<Expression, SqlError> {
        if let Expr::Tuple(members) = unnested(syntax) {
            return self.row_is_null(members, is_null);
        }
        if let Some(test) = self.whole_row_is_null(syntax, is_null)? {
            return Ok(test);
        }
        let tested = self.expression(syntax)?;
        if tested.sql_type.id == TypeId::RECORD {
            return Ok(self.record_is_null(tested, is_null));
        }
        let test = truth(Node::IsNull(Box::new(tested)));
        Ok(if is_null { test } else { negation(test) })
    }

    fn field_access(&self, syntax: &Expr, root: &Expr, chain: &[AccessExpr]) -> Result<Expression, SqlError> {
        // A name with dots that the parser takes for a path.
        if let (Expr::Identifier(first), Some(AccessExpr::Dot(Expr::Identifier(second)))) = (root, chain.first()) {
            let further = chain[1..].iter().map_while(|access| match access {
                AccessExpr::Dot(Expr::Identifier(name)) => Some(name),
                _ => None,
            });
            let names: Vec<Ident> = [first, second].into_iter().chain(further).cloned().collect();
            let rest = &chain[names.len() - 1..];
            if rest.is_empty() {
                return self.column(&names);
            }
            return self.subscripted(syntax, &Expr::CompoundIdentifier(names), rest);
        }
        self.subscripted(syntax, root, chain)
    }

    /// A column, or a value of the session whose word the parser takes for a name.
    fn name(&self, name: &Ident) -> Result<Expression, SqlError> {
        if name.quote_style.is_none()
            && ["current_role", "current_schema"].contains(&&*fold(name))
            && let Some(value) = self.session_value(&fold(name), None)?
        {
            return Ok(value);
        }
        self.column(std::slice::from_ref(name))
    }

    /// An error of resolution with the place of the name. Those about polymorphic types have no place in PostgreSQL.
    fn placed_error(&self, error: SqlError, place: Place<'_>) -> SqlError {
        if error.state() == SqlState::DatatypeMismatch { error } else { self.places.mark(error, place) }
    }
}

/// A name as PostgreSQL reads it: folded to lower case unless it is quoted. ASCII only, in a UTF-8 database.
fn fold(name: &Ident) -> String {
    if name.quote_style.is_some() { name.value.clone() } else { name.value.to_ascii_lowercase() }
}

/// An expression out of its parentheses, and a row without the word ROW.
fn unnested(syntax: &Expr) -> &Expr {
    match without_parentheses(syntax) {
        Expr::Prefixed { prefix, value } if prefix.value == ROW => value,
        other => other,
    }
}

/// An expression out of its parentheses.
fn without_parentheses(mut syntax: &Expr) -> &Expr {
    while let Expr::Nested(inner) = syntax {
        syntax = inner;
    }
    syntax
}

/// A boolean.
fn truth(node: Node) -> Expression {
    Expression { node, sql_type: SqlType::of(TypeId::BOOL) }
}

fn negation(operand: Expression) -> Expression {
    truth(Node::Not(Box::new(operand)))
}

/// A function with what computes it, or that Braid lacks it.
fn computed(function: &FunctionEntry) -> Result<Function, SqlError> {
    Function::of(function).ok_or_else(|| {
        SqlError::unsupported(format!("function {} is not supported", function.signature().replace(' ', ", ")))
    })
}

fn unsupported(syntax: &Expr) -> SqlError {
    SqlError::unsupported(format!("the expression {syntax} is not supported"))
}
