//! Sequences that the defaults of columns name: by their numbers, as in PostgreSQL ([`braid_catalog::sequence_references`]).

use braid_catalog::sequence_references::reference;
use braid_sql::functions::ObjectNames;
use braid_sql::functions::objects::names::parts_of_name;
use braid_sql::syntax::walk::{Rewrite, Tree};
use sqlparser::ast::{
    CastKind, DataType, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, ObjectName, Value,
};
use sqlparser::parser::Parser;

use crate::names::fold_parts;
use crate::statement::SqlDialect;

/// The functions whose first argument is a sequence.
const FUNCTIONS: [&str; 3] = ["nextval", "currval", "setval"];

/// A default with the numbers of the sequences that it names as constants. What is no name of a relation stays, and is refused when the
/// default is bound.
pub(crate) fn with_sequence_ids(mut default: Expr, names: &dyn ObjectNames) -> Expr {
    default.rewrite(&mut Numbering(names));
    default
}

/// The default of a column that has a sequence of its own.
pub(crate) fn default_of_sequence(id: u32) -> String {
    format!("nextval({})", reference(id))
}

struct Numbering<'a>(&'a dyn ObjectNames);

impl Rewrite for Numbering<'_> {
    fn leave_expression(&mut self, expression: &mut Expr) {
        let Expr::Function(function) = expression else { return };
        if !is_of_sequences(&function.name) {
            return;
        }
        if let Some(argument) = first_argument(function)
            && let Some(id) = named(argument).and_then(|name| relation(self.0, name))
            && let Some(numbered) = parsed(&reference(id))
        {
            *argument = numbered;
        }
    }
}

fn is_of_sequences(name: &ObjectName) -> bool {
    let parts = fold_parts(name).unwrap_or_default();
    match &parts[..] {
        [name] => FUNCTIONS.contains(&name.as_str()),
        [schema, name] => schema == "pg_catalog" && FUNCTIONS.contains(&name.as_str()),
        _ => false,
    }
}

fn first_argument(function: &mut Function) -> Option<&mut Expr> {
    let FunctionArguments::List(list) = &mut function.args else { return None };
    match list.args.first_mut()? {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(argument)) => Some(argument),
        _ => None,
    }
}

/// The name within `'s'` and `'s'::regclass`.
fn named(argument: &Expr) -> Option<&str> {
    match argument {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(name) => Some(name),
            _ => None,
        },
        Expr::Nested(inner) => named(inner),
        Expr::Cast { kind: CastKind::Cast | CastKind::DoubleColon, expr, data_type, .. } if is_regclass(data_type) => {
            named(expr)
        }
        _ => None,
    }
}

fn is_regclass(data_type: &DataType) -> bool {
    match data_type {
        DataType::Regclass => true,
        DataType::Custom(name, _) => *name == ObjectName::from(vec![Ident::new("regclass")]),
        _ => false,
    }
}

fn relation(names: &dyn ObjectNames, name: &str) -> Option<u32> {
    match &parts_of_name(name).ok()?[..] {
        [name] => names.relation_id(None, name),
        [schema, name] => names.relation_id(Some(schema), name),
        _ => None,
    }
}

fn parsed(text: &str) -> Option<Expr> {
    let dialect = SqlDialect::for_text(text);
    let mut parser = Parser::new(&dialect).try_with_sql(text).ok()?;
    parser.parse_expr().ok()
}
