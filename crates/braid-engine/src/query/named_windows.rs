//! `OVER (w ORDER BY b)`: a window that extends a named one, spelled out. DataFusion would leave the named one out.
//!
//! As in PostgreSQL, an extension adds what the named window does not have, and a named window with a frame is not extended.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, Function, Ident, NamedWindowDefinition, NamedWindowExpr, Query, SetExpr, VisitMut, VisitorMut, WindowSpec,
    WindowType,
};

use crate::names::fold;
use crate::{EngineError, SqlState};

/// Spells out the windows of a query's own SELECT. Those of its subqueries have been spelled out before.
pub(super) fn spell_out_windows(query: &mut Query) -> Result<(), EngineError> {
    let Query { body, order_by, .. } = query;
    let SetExpr::Select(select) = &mut **body else { return Ok(()) };
    let mut named: Vec<(String, WindowSpec)> = Vec::new();
    for NamedWindowDefinition(name, window) in &mut select.named_window {
        match window {
            NamedWindowExpr::WindowSpec(spec) => {
                extend(spec, &named)?;
                named.push((fold(name), spec.clone()));
            }
            NamedWindowExpr::NamedWindow(base) => named.push((fold(name), spec_of(base, &named)?.clone())),
        }
    }
    let mut visitor = Extended { named };
    let visited = match select.projection.visit(&mut visitor) {
        ControlFlow::Continue(()) => order_by.visit(&mut visitor),
        stopped => stopped,
    };
    match visited {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(*error),
    }
}

struct Extended {
    named: Vec<(String, WindowSpec)>,
}

impl VisitorMut for Extended {
    type Break = Box<EngineError>;

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        if let Expr::Function(Function { over: Some(WindowType::WindowSpec(spec)), .. }) = expr
            && let Err(error) = extend(spec, &self.named)
        {
            return ControlFlow::Break(Box::new(error));
        }
        ControlFlow::Continue(())
    }
}

fn spec_of<'a>(name: &Ident, named: &'a [(String, WindowSpec)]) -> Result<&'a WindowSpec, EngineError> {
    let folded = fold(name);
    let found = named.iter().find(|(name, _)| *name == folded).map(|(_, spec)| spec);
    found.ok_or_else(|| EngineError::new(SqlState::UndefinedObject, format!("window \"{folded}\" does not exist")))
}

/// Adds to a window what the one that it names has.
fn extend(spec: &mut WindowSpec, named: &[(String, WindowSpec)]) -> Result<(), EngineError> {
    let Some(name) = &spec.window_name else { return Ok(()) };
    if braid_sql::syntax::excluded(name).is_some() {
        return Err(EngineError::unsupported("EXCLUDE in the frame of a window is not supported"));
    }
    let base = spec_of(name, named)?;
    let refused = |what: &str| {
        let message = format!("cannot {what} window \"{}\"", fold(name));
        Err(EngineError::new(SqlState::WindowingError, message))
    };
    if !spec.partition_by.is_empty() {
        return refused("override PARTITION BY clause of");
    }
    if !spec.order_by.is_empty() && !base.order_by.is_empty() {
        return refused("override ORDER BY clause of");
    }
    if base.window_frame.is_some() {
        return refused("copy the frame clause of");
    }
    spec.partition_by = base.partition_by.clone();
    if spec.order_by.is_empty() {
        spec.order_by = base.order_by.clone();
    }
    spec.window_name = None;
    Ok(())
}
