//! Tables and functions that do not exist, found before DataFusion looks for them: so they have their own SQLSTATE,
//! PostgreSQL's words, and their place in the text.

use std::ops::ControlFlow;

use datafusion::common::TableReference;
use datafusion::execution::context::SessionState;
use datafusion::sql::sqlparser::ast::{
    Expr, Ident, ObjectName, ObjectNamePart, Statement, TableFactor, Visit, Visitor,
};
use datafusion::sql::sqlparser::tokenizer::Location;

use crate::names::fold;
use crate::{EngineError, SqlState};

/// Fails on the first table or function of `tree` that `state` does not know. `position` turns a place in the text into
/// characters.
pub(crate) fn check_names(
    tree: &Statement,
    references: &[TableReference],
    state: &SessionState,
    position: &dyn Fn(Location) -> Option<usize>,
) -> Result<(), EngineError> {
    for reference in references {
        if !table_exists(reference, state) {
            let error = match reference.table() {
                word if is_reserved(tree, word) => {
                    EngineError::new(SqlState::SyntaxError, format!("syntax error at or near \"{word}\""))
                }
                _ => undefined_table(reference),
            };
            return Err(match place_of_relation(tree, reference).and_then(position) {
                Some(position) => error.with_position(position),
                None => error,
            });
        }
    }
    match tree.visit(&mut FunctionCheck { state }) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break((name, location)) => {
            let message = format!("function {name} does not exist");
            let error = EngineError::new(SqlState::UndefinedFunction, message)
                .with_hint("No function matches the given name and argument types.");
            Err(match position(location) {
                Some(position) => error.with_position(position),
                None => error,
            })
        }
    }
}

fn table_exists(reference: &TableReference, state: &SessionState) -> bool {
    // Functions in FROM are among the references, too.
    let name = reference.table();
    let is_function = reference.schema().is_none() && (name == "unnest" || state.table_functions().contains_key(name));
    let schema = state.schema_for_ref(reference.clone());
    is_function || schema.is_ok_and(|schema| schema.table_exist(reference.table()))
}

/// Whether the name is a word that PostgreSQL takes for the next clause: the parser lets it pass for a table.
fn is_reserved(tree: &Statement, word: &str) -> bool {
    const WORDS: [&str; 14] = [
        "where",
        "group",
        "having",
        "order",
        "limit",
        "offset",
        "union",
        "intersect",
        "except",
        "select",
        "from",
        "on",
        "window",
        "fetch",
    ];
    struct Unquoted<'a>(&'a str);
    impl Visitor for Unquoted<'_> {
        type Break = ();

        fn pre_visit_relation(&mut self, relation: &ObjectName) -> ControlFlow<()> {
            match first_ident(relation) {
                Some(ident) if ident.quote_style.is_none() && fold(ident) == self.0 => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        }
    }
    WORDS.contains(&word) && tree.visit(&mut Unquoted(word)).is_break()
}

fn undefined_table(reference: &TableReference) -> EngineError {
    let name = match reference.schema() {
        Some(schema) => format!("{schema}.{}", reference.table()),
        None => reference.table().to_owned(),
    };
    EngineError::new(SqlState::UndefinedTable, format!("relation \"{name}\" does not exist"))
}

/// Where the tree names the table.
fn place_of_relation(tree: &Statement, reference: &TableReference) -> Option<Location> {
    struct Find<'a>(&'a str);
    impl Visitor for Find<'_> {
        type Break = Location;

        fn pre_visit_relation(&mut self, relation: &ObjectName) -> ControlFlow<Location> {
            match (first_ident(relation), relation.0.last()) {
                (Some(first), Some(ObjectNamePart::Identifier(last))) if fold(last) == self.0 => {
                    ControlFlow::Break(first.span.start)
                }
                _ => ControlFlow::Continue(()),
            }
        }
    }
    match tree.visit(&mut Find(reference.table())) {
        ControlFlow::Break(location) => Some(location),
        ControlFlow::Continue(()) => None,
    }
}

fn first_ident(name: &ObjectName) -> Option<&Ident> {
    match name.0.first() {
        Some(ObjectNamePart::Identifier(ident)) => Some(ident),
        _ => None,
    }
}

struct FunctionCheck<'a> {
    state: &'a SessionState,
}

impl FunctionCheck<'_> {
    fn knows(&self, name: &str) -> bool {
        // What DataFusion's planner makes of names that are in no registry.
        const SYNTAX: [&str; 3] = ["unnest", "struct", "row"];
        let state = self.state;
        state.scalar_functions().contains_key(name)
            || state.aggregate_functions().contains_key(name)
            || state.window_functions().contains_key(name)
            || state.higher_order_functions().contains_key(name)
            || SYNTAX.contains(&name)
    }

    fn check(&self, name: &ObjectName, known: impl Fn(&str) -> bool) -> ControlFlow<(String, Location)> {
        let Some(ident) = first_ident(name) else { return ControlFlow::Continue(()) };
        if name.0.len() == 1 && known(&fold(ident)) {
            return ControlFlow::Continue(());
        }
        ControlFlow::Break((name.to_string(), ident.span.start))
    }
}

impl Visitor for FunctionCheck<'_> {
    type Break = (String, Location);

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<Self::Break> {
        match expr {
            Expr::Function(function) => self.check(&function.name, |name| self.knows(name)),
            _ => ControlFlow::Continue(()),
        }
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<Self::Break> {
        match factor {
            TableFactor::Table { name, args: Some(_), .. } | TableFactor::Function { name, .. } => {
                self.check(name, |name| self.state.table_functions().contains_key(name) || name == "unnest")
            }
            _ => ControlFlow::Continue(()),
        }
    }
}
