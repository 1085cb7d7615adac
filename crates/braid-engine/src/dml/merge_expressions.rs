//! The expressions of a MERGE's queries: which clause a row takes, and the values of each clause behind that.

use braid_sql::pg_catalog::{Volatility, pg_catalog};
use braid_sql::syntax::walk::{Tree, Walk};
use braid_sql::tables::COMPUTED;
use sqlparser::ast::helpers::attached_token::AttachedToken;
use sqlparser::ast::{BinaryOperator, CaseWhen, Expr, Ident, SelectItem, SetExpr, TableFactor, TableWithJoins, Value};

use super::changed_rows::query_of_text;
use crate::EngineError;
use crate::names::fold;

/// Refuses an ON whose value may be another with each call: it is evaluated for the rows of either kind of clauses.
///
/// # Errors
/// 0A000, also where only another function of a name that is called is volatile.
pub(super) fn check_not_volatile(on: &Expr) -> Result<(), EngineError> {
    let mut calls = VolatileCalls::default();
    on.walk(&mut calls);
    match calls.0 {
        Some(name) => {
            Err(EngineError::unsupported(format!("the volatile function {name} in ON of MERGE is not supported")))
        }
        None => Ok(()),
    }
}

/// The name of the last call that may be of a volatile function.
#[derive(Default)]
struct VolatileCalls(Option<String>);

impl Walk for VolatileCalls {
    fn enter_expression(&mut self, expression: &Expr) {
        let Expr::Function(call) = expression else { return };
        let Some(name) = call.name.0.last().and_then(|part| part.as_ident()).map(fold) else { return };
        if pg_catalog().functions_named(&name).any(|function| function.volatility == Volatility::Volatile) {
            self.0 = Some(name);
        }
    }
}

/// The number of the first clause whose condition is true, or the number behind the last one: an item of FROM that the binder knows by its name.
pub(super) fn number_of_clause(conditions: &[Option<Expr>]) -> Result<TableWithJoins, EngineError> {
    let always = || Expr::Value(Value::Boolean(true).with_empty_span());
    let conditions = conditions.iter().enumerate().map(|(number, condition)| CaseWhen {
        condition: condition.clone().unwrap_or_else(always),
        result: literal(number),
    });
    let conditions: Vec<CaseWhen> = conditions.collect();
    let number = match conditions.len() {
        0 => literal(0),
        count => case(conditions, Some(literal(count))),
    };
    let mut query = query_of_text("SELECT 1 FROM (SELECT 1) AS a (b)")?;
    let broken = || EngineError::internal("a query of MERGE is not read");
    let SetExpr::Select(select) = &mut *query.body else { return Err(broken()) };
    let mut item = select.from.pop().ok_or_else(broken)?;
    if let TableFactor::Derived { subquery, alias: Some(alias), .. } = &mut item.relation
        && let SetExpr::Select(inner) = &mut *subquery.body
    {
        inner.projection = vec![SelectItem::UnnamedExpr(number)];
        alias.name = Ident::with_quote('"', COMPUTED);
        alias.columns.iter_mut().for_each(|column| column.name = Ident::with_quote('"', COMPUTED));
    }
    Ok(item)
}

/// A value that is computed for the rows of its clause only. What cannot fail keeps its own type: a literal has none.
pub(super) fn guarded(value: &Expr, number: usize) -> Expr {
    match value {
        Expr::Value(_) | Expr::Identifier(_) | Expr::CompoundIdentifier(_) => return value.clone(),
        Expr::Nested(inner) => return guarded(inner, number),
        _ => {}
    }
    let computed = Ident::with_quote('"', COMPUTED);
    let condition = Expr::BinaryOp {
        left: Box::new(Expr::CompoundIdentifier(vec![computed.clone(), computed])),
        op: BinaryOperator::Eq,
        right: Box::new(literal(number)),
    };
    case(vec![CaseWhen { condition, result: value.clone() }], None)
}

fn literal(number: usize) -> Expr {
    Expr::Value(Value::Number(number.to_string(), false).with_empty_span())
}

fn case(conditions: Vec<CaseWhen>, otherwise: Option<Expr>) -> Expr {
    let (case_token, end_token) = (AttachedToken::empty(), AttachedToken::empty());
    Expr::Case { case_token, end_token, operand: None, conditions, else_result: otherwise.map(Box::new) }
}
