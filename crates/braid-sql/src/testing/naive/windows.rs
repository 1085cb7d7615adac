//! Window functions.

use super::order::sort_keys;
use super::{Environment, Row};
use crate::aggregates::Aggregate;
use crate::expression::Expression;
use crate::functions::{Call, UnlimitedMemory};
use crate::pg_catalog::pg_catalog;
use crate::relation::{self, FrameExclusion, WindowCall, WindowFrame, Windowing};
use crate::window_functions::frame_aggregates::aggregate_values;
use crate::window_functions::frames::OrderingColumn;
use crate::window_functions::range_offsets::InRange;
use crate::window_functions::{
    Exclusion, Frame, FrameBound, FrameMode, FrameOffset, FrameSpecification, Partition, Peers, WindowFunction,
};
use crate::{SqlError, Value};

impl Environment<'_> {
    /// The rows of each partition in the window's order, with the functions' values.
    pub(super) fn windowed(&self, windowing: &Windowing) -> Result<Vec<Row>, SqlError> {
        if self.knows_offsets(&windowing.frame) {
            self.frame(windowing, &Row::new())?;
        }
        let rows = self.sorted(self.rows(&windowing.input)?, &windowing.order_by, &[])?;
        let equality = self.equality_of(&windowing.partition_by)?;
        let (mut keys, mut partitions): (Vec<Vec<Value>>, Vec<Vec<Row>>) = (Vec::new(), Vec::new());
        for row in rows {
            let key = self.values(&windowing.partition_by, &row)?;
            match equality.position(&key, &keys)? {
                Some(at) => partitions[at].push(row),
                None => {
                    keys.push(key);
                    partitions.push(vec![row]);
                }
            }
        }
        let mut all = Vec::new();
        for mut rows in partitions {
            // All rows of a partition have the same offsets.
            let frame = self.frame(windowing, &rows[0])?;
            self.compute(windowing, &frame, &mut rows)?;
            all.extend(rows);
        }
        Ok(all)
    }

    /// Adds the functions' values to the rows of a partition.
    fn compute(&self, windowing: &Windowing, frame: &FrameSpecification, rows: &mut [Row]) -> Result<(), SqlError> {
        let keys = sort_keys(&windowing.order_by)?;
        let mut key_values = Vec::new();
        for row in rows.iter() {
            key_values.push(self.values(windowing.order_by.iter().map(|key| &key.expression), row)?);
        }
        let peers = Peers::of(&key_values, &keys, self.world.session)?;
        let first_values: Vec<Value> = key_values.iter().filter_map(|values| values.first().cloned()).collect();
        let column = keys.first().map(|key| OrderingColumn { values: &first_values, key });
        let frames = frame.frames(&peers, column, self.world.session)?;
        for (made, call) in &windowing.calls {
            let values = self.call_values(call, rows, &peers, &frames)?;
            for (row, value) in rows.iter_mut().zip(values) {
                row.insert(*made, value);
            }
        }
        Ok(())
    }

    fn call_values(
        &self,
        call: &WindowCall,
        rows: &[Row],
        peers: &Peers,
        frames: &[Frame],
    ) -> Result<Vec<Value>, SqlError> {
        let entry = pg_catalog().function(call.function);
        let (mut arguments, mut counts) = (Vec::new(), Vec::new());
        for row in rows {
            let is_counted = call.filter.as_ref().map_or(Ok(true), |filter| self.holds(filter, row))?;
            arguments.push(if is_counted { self.values(&call.arguments, row)? } else { Vec::new() });
            counts.push(is_counted);
        }
        let partition = Partition { arguments: &arguments, peers, frames };
        if let Some(function) = WindowFunction::of(entry) {
            return function.values(&partition);
        }
        let aggregate = Aggregate::of(entry)
            .ok_or_else(|| SqlError::unsupported(format!("aggregate {} is not supported", entry.name)))?;
        let context = Call {
            session: self.world.session,
            argument_types: &call.argument_types,
            result_type: call.sql_type,
            memory: &UnlimitedMemory,
        };
        aggregate_values(&aggregate, &partition, Some(&counts), &context)
    }

    /// Whether the offsets read columns of queries around only.
    fn knows_offsets(&self, frame: &WindowFrame) -> bool {
        let offsets = [&frame.start, &frame.end].into_iter().filter_map(relation::FrameBound::offset);
        let mut read = offsets.flat_map(Expression::free_columns);
        read.all(|column| self.columns.contains_key(&column))
    }

    /// The frame with the values that its offsets have in a row.
    fn frame(&self, windowing: &Windowing, row: &Row) -> Result<FrameSpecification, SqlError> {
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
            let value = self.value(offset, row)?;
            match (mode, &windowing.order_by[..]) {
                (FrameMode::Range, [key]) => {
                    let in_range = InRange::of(key.expression.sql_type.id, offset.sql_type.id)?;
                    Ok(FrameOffset::Distance(in_range, value))
                }
                _ => Ok(FrameOffset::Count(value)),
            }
        };
        let bound = |bound: &relation::FrameBound| -> Result<FrameBound, SqlError> {
            Ok(match bound {
                relation::FrameBound::UnboundedPreceding => FrameBound::UnboundedPreceding,
                relation::FrameBound::Preceding(by) => FrameBound::Preceding(offset(by)?),
                relation::FrameBound::CurrentRow => FrameBound::CurrentRow,
                relation::FrameBound::Following(by) => FrameBound::Following(offset(by)?),
                relation::FrameBound::UnboundedFollowing => FrameBound::UnboundedFollowing,
            })
        };
        let frame = FrameSpecification { mode, start: bound(start)?, end: bound(end)?, exclusion };
        frame.check_offsets()?;
        Ok(frame)
    }
}
