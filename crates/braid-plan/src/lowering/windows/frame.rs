//! A frame clause with the values of its offsets, which are known when the query is planned.

use braid_sql::relation::{self, FrameExclusion, WindowFrame, Windowing};
use braid_sql::window_functions::range_offsets::InRange;
use braid_sql::window_functions::{Exclusion, FrameBound, FrameMode, FrameOffset, FrameSpecification};
use braid_sql::{Expression, SqlError};

use super::type_of;
use crate::lowering::query::Lowering;

impl Lowering<'_> {
    /// The frame of a window.
    pub(super) fn frame(&self, windowing: &Windowing) -> Result<FrameSpecification, SqlError> {
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
        let offset = |offset: &Expression| -> Result<FrameOffset, SqlError> {
            let value = self.known_value(offset)?;
            match (mode, &windowing.order_by[..]) {
                (FrameMode::Range, [key]) => {
                    Ok(FrameOffset::Distance(InRange::of(type_of(&key.expression), type_of(offset))?, value))
                }
                _ => Ok(FrameOffset::Count(value)),
            }
        };
        Ok(FrameSpecification { mode, start: bound(start, offset)?, end: bound(end, offset)?, exclusion })
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
