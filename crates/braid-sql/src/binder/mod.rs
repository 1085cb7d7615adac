//! Syntax into expressions with types, as PostgreSQL's parser analysis does it.
//!
//! Names are looked up, literals read, operators and functions chosen by the types of their arguments, and casts added, so that what
//! comes out needs no further decision. Errors have PostgreSQL's SQLSTATE, words and place. What PostgreSQL has and Braid has not is
//! refused with SQLSTATE 0A000.
//!
//! | module | contents |
//! |---|---|
//! | [`calls`] | functions, in all notations |
//! | [`special_syntax`] | `EXTRACT`, `TRIM`, `LIKE`, `AT TIME ZONE`, … as calls |
//! | [`session_values`] | `current_date`, `current_user` and the like |
//! | [`conditionals`] | CASE, COALESCE, NULLIF, GREATEST, LEAST, ARRAY |
//! | [`operators`] | operators, comparisons, IN, ANY, AND, OR, NOT |
//! | [`casts`] | what is added where types differ |
//! | [`literals`] | numbers, strings, signs |
//! | [`type_syntax`] | the names of types |
//! | [`places`] | places in the statement's text |
//! | [`precedence`] | trees that bind as PostgreSQL's grammar does |

mod calls;
mod casts;
mod conditionals;
mod literals;
mod operators;
mod places;
pub mod precedence;
mod session_values;
mod special_syntax;
mod type_syntax;

use sqlparser::ast::{AccessExpr, Expr, Ident};

use crate::expression::{Expression, Node};
use crate::functions::{Implementation, SessionFacts, implementation_of};
use crate::pg_catalog::{CastContext, FunctionEntry, TypeId};
use crate::{SqlError, SqlState, SqlType};
use places::Places;

/// Binds the expressions of a statement.
#[derive(Debug)]
pub struct Binder<'a> {
    session: &'a dyn SessionFacts,
    places: Places<'a>,
}

impl<'a> Binder<'a> {
    /// A binder for the statement `text`, of which expressions are parsed. Literals are read in `session`.
    pub fn new(text: &'a str, session: &'a dyn SessionFacts) -> Self {
        Self { session, places: Places::new(text) }
    }

    /// An expression of a select list: a literal whose type nothing tells is a text.
    pub fn output_expression(&self, syntax: &Expr) -> Result<Expression, SqlError> {
        self.resolve_unknown(self.expression(syntax)?)
    }

    /// An expression as it is stored in a column of this type; the type of the expression if it cannot be.
    pub fn assigned_expression(&self, syntax: &Expr, target: SqlType) -> Result<Result<Expression, SqlType>, SqlError> {
        let place = self.places.of_expression(syntax);
        let coerced = self.coerced(self.expression(syntax)?, place, target, CastContext::Assignment)?;
        Ok(coerced.map_err(|refused| refused.sql_type))
    }

    /// An expression as it stands: a literal may be of type `unknown`.
    pub fn expression(&self, syntax: &Expr) -> Result<Expression, SqlError> {
        match syntax {
            Expr::Nested(inner) => self.expression(inner),
            Expr::Value(value) => self.literal(value),
            Expr::TypedString(typed) => self.typed_string(typed),
            Expr::Interval(interval) => self.interval_literal(interval),
            Expr::Prefixed { .. } => Err(unsupported(syntax)),
            Expr::Identifier(name) => Err(self.no_column(std::slice::from_ref(name))),
            Expr::CompoundIdentifier(names) => Err(self.no_column(names)),
            Expr::UnaryOp { op, expr } => self.prefix(syntax, op, expr),
            Expr::BinaryOp { left, op, right } => self.binary(syntax, left, op, right),
            Expr::IsNull(operand) => Ok(truth(Node::IsNull(Box::new(self.not_a_row(operand)?)))),
            Expr::IsNotNull(operand) => Ok(negation(truth(Node::IsNull(Box::new(self.not_a_row(operand)?))))),
            Expr::IsTrue(operand) => self.is_truth(operand, true, "IS TRUE"),
            Expr::IsNotTrue(operand) => Ok(negation(self.is_truth(operand, true, "IS NOT TRUE")?)),
            Expr::IsFalse(operand) => self.is_truth(operand, false, "IS FALSE"),
            Expr::IsNotFalse(operand) => Ok(negation(self.is_truth(operand, false, "IS NOT FALSE")?)),
            Expr::IsUnknown(operand) => self.is_unknown(operand, "IS UNKNOWN"),
            Expr::IsNotUnknown(operand) => Ok(negation(self.is_unknown(operand, "IS NOT UNKNOWN")?)),
            Expr::IsDistinctFrom(left, right) => self.distinct(left, right),
            Expr::IsNotDistinctFrom(left, right) => Ok(negation(self.distinct(left, right)?)),
            Expr::Between { expr, negated, low, high } => self.between(expr, low, high, *negated),
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

    /// An operand of a test of rows as well as of values: rows are refused.
    fn not_a_row(&self, syntax: &Expr) -> Result<Expression, SqlError> {
        match unnested(syntax) {
            Expr::Tuple(_) => Err(unsupported(syntax)),
            other => self.expression(other),
        }
    }

    fn field_access(&self, syntax: &Expr, root: &Expr, chain: &[AccessExpr]) -> Result<Expression, SqlError> {
        // A name with dots that the parser takes for a path.
        if let (Expr::Identifier(first), Some(AccessExpr::Dot(Expr::Identifier(second)))) = (root, chain.first()) {
            return Err(self.no_column(&[first.clone(), second.clone()]));
        }
        Err(unsupported(syntax))
    }

    /// There are no tables.
    fn no_column(&self, names: &[Ident]) -> SqlError {
        let place = names.first().and_then(|name| self.places.of(name.span.start));
        let folded: Vec<String> = names.iter().map(fold).collect();
        let error = match &folded[..] {
            [name] => SqlError::new(SqlState::UndefinedColumn, format!("column \"{name}\" does not exist")),
            [table, .., _] => {
                let table = if folded.len() > 2 { &folded[folded.len() - 2] } else { table };
                let message = format!("missing FROM-clause entry for table \"{table}\"");
                SqlError::new(SqlState::UndefinedTable, message)
            }
            [] => SqlError::new(SqlState::SyntaxError, "a column without a name"),
        };
        error.at(place)
    }
}

/// A name as PostgreSQL reads it: folded to lower case unless it is quoted. ASCII only, in a UTF-8 database.
fn fold(name: &Ident) -> String {
    if name.quote_style.is_some() { name.value.clone() } else { name.value.to_ascii_lowercase() }
}

/// An error of resolution with the place of the name. Those about polymorphic types have no place in PostgreSQL.
fn placed(error: SqlError, place: Option<usize>) -> SqlError {
    if error.state() == SqlState::DatatypeMismatch { error } else { error.at(place) }
}

/// An expression out of its parentheses.
fn unnested(mut syntax: &Expr) -> &Expr {
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

/// What computes a function, or that Braid lacks it.
fn implementation(function: &FunctionEntry) -> Result<Implementation, SqlError> {
    implementation_of(function).ok_or_else(|| {
        SqlError::unsupported(format!("function {} is not supported", function.signature().replace(' ', ", ")))
    })
}

fn unsupported(syntax: &Expr) -> SqlError {
    SqlError::unsupported(format!("the expression {syntax} is not supported"))
}
