//! Windows: PARTITION BY, ORDER BY and frames, named or not.

use sqlparser::ast::{
    Expr, Ident, NamedWindowDefinition, NamedWindowExpr, WindowFrame as FrameSyntax, WindowFrameBound,
    WindowFrameUnits, WindowSpec, WindowType,
};

use super::scope::Scope;
use crate::binder::clause::Clause;
use crate::binder::places::Place;
use crate::binder::{Binder, fold};
use crate::expression::Expression;
use crate::pg_catalog::{CastContext, TypeId};
use crate::relation::{FrameBound, FrameExclusion, FrameMode, Relation, SortKey, WindowFrame, Windowing};
use crate::syntax::excluded;
use crate::window_functions::range_offsets::InRange;
use crate::{SqlError, SqlState, SqlType};

impl Binder<'_> {
    /// What follows OVER, without calls and input.
    pub(super) fn window(&self, over: &WindowType, scope: &Scope<'_>) -> Result<Windowing, SqlError> {
        match over {
            WindowType::WindowSpec(spec) => self.window_specification(spec, scope.windows),
            WindowType::NamedWindow(name) => self.named_window(&fold(name), scope.windows),
        }
    }

    /// A window of the WINDOW clause. It may refer to those before it.
    fn named_window(&self, name: &str, windows: &[NamedWindowDefinition]) -> Result<Windowing, SqlError> {
        let Some(at) = windows.iter().position(|window| fold(&window.0) == name) else {
            let message = format!("window \"{name}\" does not exist");
            return Err(SqlError::new(SqlState::UndefinedObject, message));
        };
        match &windows[at].1 {
            NamedWindowExpr::WindowSpec(spec) => self.window_specification(spec, &windows[..at]),
            NamedWindowExpr::NamedWindow(other) => self.named_window(&fold(other), &windows[..at]),
        }
    }

    fn window_specification(
        &self,
        spec: &WindowSpec,
        windows: &[NamedWindowDefinition],
    ) -> Result<Windowing, SqlError> {
        let partition = self.within(Clause::WindowPartition);
        let own_partition = spec.partition_by.iter().map(|key| {
            let place = Place::Start(key);
            let key = partition.resolve_unknown(partition.expression(key)?)?;
            super::set_operations::check_equality(key.sql_type.id).map_err(|error| self.places.mark(error, place))?;
            Ok(key)
        });
        let own_partition = own_partition.collect::<Result<Vec<Expression>, SqlError>>()?;
        let own_order = self.within(Clause::WindowOrder).keys_of(&spec.order_by)?;
        let (base, exclusion) = base_of(spec.window_name.as_ref())?;
        let (partition_by, order_by) = match &base {
            None => (own_partition, own_order),
            Some(name) => {
                let name = fold(name);
                let refuse = |what: &str| {
                    let message = format!("cannot {what} of window \"{name}\"");
                    Err(SqlError::new(SqlState::WindowingError, message))
                };
                let base = self.named_window(&name, windows)?;
                if !own_partition.is_empty() {
                    return refuse("override PARTITION BY clause");
                }
                if !own_order.is_empty() && !base.order_by.is_empty() {
                    return refuse("override ORDER BY clause");
                }
                if base.frame != default_frame() {
                    let message = format!("cannot copy window \"{name}\" because it has a frame clause");
                    return Err(SqlError::new(SqlState::WindowingError, message));
                }
                (base.partition_by, if own_order.is_empty() { base.order_by } else { own_order })
            }
        };
        let frame = match &spec.window_frame {
            None => default_frame(),
            Some(frame) => WindowFrame { exclusion, ..self.frame(frame, &order_by)? },
        };
        Ok(Windowing { input: Relation::OneRow, partition_by, order_by, frame, calls: Vec::new() })
    }

    fn frame(&self, syntax: &FrameSyntax, order_by: &[SortKey]) -> Result<WindowFrame, SqlError> {
        let (mode, clause) = match syntax.units {
            WindowFrameUnits::Rows => (FrameMode::Rows, Clause::WindowFrameRows),
            WindowFrameUnits::Range => (FrameMode::Range, Clause::WindowFrameRange),
            WindowFrameUnits::Groups => (FrameMode::Groups, Clause::WindowFrameGroups),
        };
        let windowing = |message: &str| Err(SqlError::new(SqlState::WindowingError, message));
        let binder = self.within(clause);
        let start = binder.frame_bound(&syntax.start_bound, mode, order_by)?;
        let end = match &syntax.end_bound {
            None => FrameBound::CurrentRow,
            Some(bound) => binder.frame_bound(bound, mode, order_by)?,
        };
        match (&start, &end) {
            (FrameBound::UnboundedFollowing, _) => return windowing("frame start cannot be UNBOUNDED FOLLOWING"),
            (_, FrameBound::UnboundedPreceding) => return windowing("frame end cannot be UNBOUNDED PRECEDING"),
            (FrameBound::CurrentRow, FrameBound::Preceding(_)) => {
                return windowing("frame starting from current row cannot have preceding rows");
            }
            (FrameBound::Following(_), FrameBound::Preceding(_) | FrameBound::CurrentRow) => {
                return windowing("frame starting from following row cannot have preceding rows");
            }
            _ => {}
        }
        if mode == FrameMode::Groups && order_by.is_empty() {
            return windowing("GROUPS mode requires an ORDER BY clause");
        }
        let has_offset = start.offset().is_some() || end.offset().is_some();
        if mode == FrameMode::Range && has_offset && order_by.len() != 1 {
            return windowing("RANGE with offset PRECEDING/FOLLOWING requires exactly one ORDER BY column");
        }
        Ok(WindowFrame { mode, start, end, exclusion: FrameExclusion::NoOthers })
    }

    fn frame_bound(
        &self,
        syntax: &WindowFrameBound,
        mode: FrameMode,
        order_by: &[SortKey],
    ) -> Result<FrameBound, SqlError> {
        Ok(match syntax {
            WindowFrameBound::CurrentRow => FrameBound::CurrentRow,
            WindowFrameBound::Preceding(None) => FrameBound::UnboundedPreceding,
            WindowFrameBound::Following(None) => FrameBound::UnboundedFollowing,
            WindowFrameBound::Preceding(Some(offset)) => FrameBound::Preceding(self.offset(offset, mode, order_by)?),
            WindowFrameBound::Following(Some(offset)) => FrameBound::Following(self.offset(offset, mode, order_by)?),
        })
    }

    /// The string of an offset, which the parser takes for an interval.
    fn bare_literal<'s>(&self, syntax: &'s Expr) -> Option<&'s Expr> {
        let Expr::Interval(interval) = syntax else { return None };
        let Expr::Value(literal) = &*interval.value else { return None };
        let is_bare = interval.leading_field.is_none() && !self.places.follows_word(literal.span.start, "interval");
        is_bare.then_some(&*interval.value)
    }

    fn offset(&self, syntax: &Expr, mode: FrameMode, order_by: &[SortKey]) -> Result<Expression, SqlError> {
        let (bound, place) = self.placed(self.bare_literal(syntax).unwrap_or(syntax))?;
        // Columns of queries around this one are the same for all of its rows.
        if bound.free_columns().into_iter().any(|column| self.scope.is_none_or(|scope| scope.owns(column))) {
            let message =
                format!("argument of {} must not contain variables", self.clause.name().trim_start_matches("window "));
            return Err(self.places.mark(SqlError::new(SqlState::InvalidColumnReference, message), place));
        }
        let target = match (mode, order_by) {
            (FrameMode::Rows | FrameMode::Groups, _) => TypeId::INT8,
            (FrameMode::Range, [key]) => InRange::of(key.expression.sql_type.id, bound.sql_type.id)
                .map_err(|error| self.places.mark(error, place))?
                .offset_type(),
            (FrameMode::Range, _) => return Ok(bound),
        };
        self.coerce(bound, place, SqlType::of(target), CastContext::Implicit)
    }
}

/// The window that one extends, and the exclusion of its frame.
fn base_of(name: Option<&Ident>) -> Result<(Option<Ident>, FrameExclusion), SqlError> {
    let Some(name) = name else { return Ok((None, FrameExclusion::NoOthers)) };
    let Some((base, words)) = excluded(name) else { return Ok((Some(name.clone()), FrameExclusion::NoOthers)) };
    let exclusion = match words {
        "no others" => FrameExclusion::NoOthers,
        "current row" => FrameExclusion::CurrentRow,
        "group" => FrameExclusion::Group,
        "ties" => FrameExclusion::Ties,
        other => return Err(SqlError::new(SqlState::SyntaxError, format!("nothing is excluded by {other}"))),
    };
    Ok((base, exclusion))
}

/// The frame of a window that says nothing: from the first row to the last peer of the current row.
fn default_frame() -> WindowFrame {
    WindowFrame {
        mode: FrameMode::Range,
        start: FrameBound::UnboundedPreceding,
        end: FrameBound::CurrentRow,
        exclusion: FrameExclusion::NoOthers,
    }
}
