//! Accumulators by group, whose parts are a few values.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, BinaryViewBuilder};
use braid_exec::ExecError;
use braid_exec::plan::{ForeignError, ForeignStates};
use braid_exec::runtime::stop::StopFlag;
use braid_sql::aggregates::Accumulation;
use braid_sql::{SqlError, Value};

use super::accumulation_call::AccumulationCall;
use super::form_of_result;
use crate::values::arrays::{ArrayBuilder, value_at};
use crate::values::codec::{decode_all, encode};

/// An accumulation for each group.
#[derive(Debug)]
pub(super) struct MergedStates {
    call: Arc<AccumulationCall>,
    groups: Vec<Accumulation>,
    /// Bytes of all accumulations.
    bytes: usize,
}

impl MergedStates {
    /// States of no groups.
    pub fn new(call: Arc<AccumulationCall>) -> Self {
        Self { call, groups: Vec::new(), bytes: 0 }
    }

    fn grow(&mut self, group_count: usize) -> Result<(), SqlError> {
        while self.groups.len() < group_count {
            let accumulation = self.call.start()?;
            self.bytes += accumulation.bytes();
            self.groups.push(accumulation);
        }
        Ok(())
    }

    /// Changes the accumulation of a group.
    fn change(
        &mut self,
        group: u32,
        change: impl FnOnce(&mut Accumulation, &AccumulationCall) -> Result<(), SqlError>,
    ) -> Result<(), SqlError> {
        let Self { call, groups, bytes } = self;
        let accumulation = &mut groups[group as usize];
        let before = accumulation.bytes();
        let changed = change(accumulation, call);
        *bytes = *bytes - before + accumulation.bytes();
        changed
    }
}

impl ForeignStates for MergedStates {
    fn update(&mut self, groups: &[u32], group_count: usize, arguments: &[ArrayRef]) -> Result<(), ForeignError> {
        self.grow(group_count)?;
        let mut values = vec![Value::Null; arguments.len()];
        for (row, group) in groups.iter().enumerate() {
            for ((value, array), id) in values.iter_mut().zip(arguments).zip(&self.call.ids) {
                *value = value_at(array, row, *id)?;
            }
            self.change(*group, |accumulation, call| accumulation.add(&values, &call.context()))?;
        }
        Ok(())
    }

    fn save(&self, groups: &[u32]) -> Result<ArrayRef, ForeignError> {
        let mut parts = BinaryViewBuilder::new();
        for group in groups {
            let Some(accumulation) = self.groups.get(*group as usize) else {
                parts.append_null();
                continue;
            };
            let mut bytes = Vec::new();
            let values = accumulation.parts().expect("the call has parts");
            values.iter().try_for_each(|value| encode(value, &mut bytes))?;
            parts.append_value(bytes);
        }
        Ok(Arc::new(parts.finish()))
    }

    fn merge(&mut self, groups: &[u32], group_count: usize, parts: &ArrayRef) -> Result<(), ForeignError> {
        self.grow(group_count)?;
        for (group, part) in groups.iter().zip(parts.as_binary_view()) {
            let Some(part) = part else { continue };
            let values = decode_all(part)?;
            self.change(*group, |accumulation, call| accumulation.merge_parts(&values, &call.context()))?;
        }
        Ok(())
    }

    fn results(&self, groups: Range<usize>, cancelled: &StopFlag) -> Result<ArrayRef, ForeignError> {
        let mut results = ArrayBuilder::new(form_of_result(self.call.result));
        for group in groups {
            if cancelled.is_raised() {
                return Err(Box::new(ExecError::Cancelled));
            }
            let result = match self.groups.get(group) {
                Some(accumulation) => accumulation.finish(&[], &self.call.context()),
                None => self.call.start()?.finish(&[], &self.call.context()),
            };
            results.add(&result?)?;
        }
        Ok(results.finish())
    }

    fn bytes(&self) -> usize {
        self.bytes + (self.groups.capacity() - self.groups.len()) * size_of::<Accumulation>()
    }

    fn results_bytes(&self, groups: Range<usize>) -> usize {
        groups.len() * size_of::<Value>()
    }
}
