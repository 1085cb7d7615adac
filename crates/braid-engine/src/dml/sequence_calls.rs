//! Which expressions take numbers of sequences, or read what others took: `currval` in a row of VALUES is the number that the default of
//! another column has taken before it.

use braid_sql::syntax::walk::{Tree, Walk};
use braid_storage::TableDef;
use sqlparser::ast::Expr;

use super::defaults::DomainDefaults;
use crate::EngineError;
use crate::names::fold;

/// Functions of sequences.
const FUNCTIONS: &[&str] = &["nextval", "currval", "lastval", "setval"];

/// Whether a tree calls a function of sequences.
pub(super) fn calls_sequences(tree: &impl Tree) -> bool {
    let mut calls = Calls { found: false };
    tree.walk(&mut calls);
    calls.found
}

/// The columns besides those that are `given` whose defaults call such functions.
///
/// # Errors
/// When a default does not parse.
pub(super) fn numbered_besides(
    def: &TableDef,
    given: &[usize],
    defaults: &DomainDefaults,
) -> Result<Vec<usize>, EngineError> {
    let mut numbered = Vec::new();
    for (at, column) in def.columns.iter().enumerate().filter(|(at, _)| !given.contains(at)) {
        if column.generated.is_none() && defaults.syntax(column)?.is_some_and(|default| calls_sequences(&default)) {
            numbered.push(at);
        }
    }
    Ok(numbered)
}

struct Calls {
    found: bool,
}

impl Walk for Calls {
    fn enter_expression(&mut self, expression: &Expr) {
        if let Expr::Function(function) = expression
            && let Some(name) = function.name.0.last().and_then(|part| part.as_ident())
        {
            self.found |= FUNCTIONS.contains(&fold(name).as_str());
        }
    }
}
