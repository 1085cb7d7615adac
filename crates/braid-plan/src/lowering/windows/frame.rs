//! A frame clause with the values of its offsets. Those that are subqueries, or columns of a query around, are the same in all rows of a
//! partition, and are read in its first one.

use braid_sql::pg_catalog::TypeId;
use braid_sql::relation::{self, FrameExclusion, WindowFrame, Windowing};
use braid_sql::window_functions::range_offsets::InRange;
use braid_sql::window_functions::{Exclusion, FrameBound, FrameMode, FrameOffset, FrameSpecification};
use braid_sql::{Expression, SqlError, Value};

use super::type_of;
use crate::lowering::parameters::reads_rows;
use crate::lowering::query::Lowering;

/// An offset that is computed, and its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ComputedOffset {
    Start(TypeId),
    End(TypeId),
}

/// The frame of a window, whose computed offsets are null, and these.
pub(super) struct LoweredFrame<'a> {
    pub frame: FrameSpecification,
    pub computed: Vec<(ComputedOffset, &'a Expression)>,
}

impl Lowering<'_> {
    /// The frame of a window.
    pub(super) fn frame<'a>(&self, windowing: &'a Windowing) -> Result<LoweredFrame<'a>, SqlError> {
        let WindowFrame { mode, start, end, exclusion } = &windowing.frame;
        let mode = match mode {
            relation::FrameMode::Rows => FrameMode::Rows,
            relation::FrameMode::Range => FrameMode::Range,
            relation::FrameMode::Groups => FrameMode::Groups,
        };
        let exclusion = match exclusion {
            FrameExclusion::NoOthers => Exclusion::Nothing,
            FrameExclusion::CurrentRow => Exclusion::CurrentRow,
            FrameExclusion::Group => Exclusion::Group,
            FrameExclusion::Ties => Exclusion::Ties,
        };
        let mut computed = Vec::new();
        if let Some(offset) = start.offset().filter(|offset| reads_rows(offset)) {
            computed.push((ComputedOffset::Start(type_of(offset)), offset));
        }
        if let Some(offset) = end.offset().filter(|offset| reads_rows(offset)) {
            computed.push((ComputedOffset::End(type_of(offset)), offset));
        }
        let offset = |offset: &Expression| -> Result<FrameOffset, SqlError> {
            let value = if reads_rows(offset) { Value::Null } else { self.known_value(offset)? };
            match (mode, &windowing.order_by[..]) {
                (FrameMode::Range, [key]) => {
                    Ok(FrameOffset::Distance(InRange::of(type_of(&key.expression), type_of(offset))?, value))
                }
                _ => Ok(FrameOffset::Count(value)),
            }
        };
        let frame = FrameSpecification { mode, start: bound(start, offset)?, end: bound(end, offset)?, exclusion };
        if computed.is_empty() {
            frame.check_offsets()?;
        }
        Ok(LoweredFrame { frame, computed })
    }
}

impl ComputedOffset {
    /// The type of its value.
    pub fn id(self) -> TypeId {
        match self {
            Self::Start(id) | Self::End(id) => id,
        }
    }

    /// Puts its value into a frame.
    pub fn put(self, frame: &mut FrameSpecification, value: Value) {
        let bound = match self {
            Self::Start(_) => &mut frame.start,
            Self::End(_) => &mut frame.end,
        };
        if let FrameBound::Preceding(offset) | FrameBound::Following(offset) = bound {
            let (FrameOffset::Count(own) | FrameOffset::Distance(_, own)) = offset;
            *own = value;
        }
    }
}

fn bound(
    bound: &relation::FrameBound,
    offset: impl Fn(&Expression) -> Result<FrameOffset, SqlError>,
) -> Result<FrameBound, SqlError> {
    Ok(match bound {
        relation::FrameBound::UnboundedPreceding => FrameBound::UnboundedPreceding,
        relation::FrameBound::Preceding(by) => FrameBound::Preceding(offset(by)?),
        relation::FrameBound::CurrentRow => FrameBound::CurrentRow,
        relation::FrameBound::Following(by) => FrameBound::Following(offset(by)?),
        relation::FrameBound::UnboundedFollowing => FrameBound::UnboundedFollowing,
    })
}
