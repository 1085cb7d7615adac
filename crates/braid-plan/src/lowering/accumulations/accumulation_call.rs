//! What is known of a call of an aggregate, and which states it has.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use braid_exec::plan::{ForeignAggregate, ForeignStates};
use braid_sql::aggregates::{Accumulation, Aggregate, FixedState};
use braid_sql::functions::ordering::{SortKey, TypeEquality};
use braid_sql::functions::{Call, UnlimitedMemory};
use braid_sql::pg_catalog::TypeId;
use braid_sql::{SqlError, SqlType, Value};

use super::fixed_states;
use super::kept_rows::KeptRows;
use super::merged_states::MergedStates;
use super::percentiles::PercentileCall;
use crate::lowering::Session;
use crate::values::Form;

/// A call of an aggregate.
#[derive(Debug)]
pub(in crate::lowering) struct AccumulationCall {
    pub name: &'static str,
    pub aggregate: Aggregate,
    /// The types of all arguments, direct ones first.
    pub argument_types: Vec<SqlType>,
    pub result: SqlType,
    pub session: Arc<dyn Session>,
    /// How many of a row's values are only sorted by. They come first.
    pub sort_count: usize,
    /// How many are arguments. They come next.
    pub argument_count: usize,
    pub direct: DirectArguments,
    /// The types of a row's values. Where direct arguments are in rows, the filter may come after them.
    pub ids: Vec<TypeId>,
    /// The order of the rows: that of their first values.
    pub order: Vec<SortKey>,
    /// The keys of WITHIN GROUP.
    pub within_group: Vec<SortKey>,
    /// The direction of its only key.
    pub is_descending: Option<bool>,
    /// DISTINCT: the equality of each argument.
    pub equalities: Option<Vec<TypeEquality>>,
    /// The number of the next row. Rows have the order of their numbers where they are not sorted.
    pub next: AtomicU64,
}

/// The arguments that an ordered-set aggregate has before WITHIN GROUP.
#[derive(Debug)]
pub(in crate::lowering) enum DirectArguments {
    /// The same for all groups.
    Known(Vec<Value>),
    /// Made of keys: so many, which come after a row's arguments. They are those of a group's first row.
    InRows(usize),
}

impl AccumulationCall {
    /// The call as functions see it. The operator counts the states, with what their results need.
    pub fn context(&self) -> Call<'_> {
        let (session, argument_types) = (&*self.session, &self.argument_types[..]);
        Call { session, argument_types, result_type: self.result, memory: &UnlimitedMemory }
    }

    /// An accumulation without rows.
    pub fn start(&self) -> Result<Accumulation, SqlError> {
        self.aggregate.start(&self.context(), &self.within_group)
    }

    /// The state of a fixed size that the operator's vectors are taken into, if there is one.
    fn fixed_state(&self) -> Option<FixedState> {
        let is_plain = self.order.is_empty() && self.equalities.is_none();
        self.aggregate.fixed_state().filter(|_| is_plain)
    }

    /// The percentile that is selected of a group's values, and their form.
    fn percentile(&self) -> Option<(PercentileCall, Form)> {
        let (percentile, id) = (self.aggregate.percentile()?, *self.ids.first()?);
        let (DirectArguments::Known(direct), Some(is_descending)) = (&self.direct, self.is_descending) else {
            return None;
        };
        let fraction = match &direct[..] {
            [Value::Null] => None,
            [Value::Float8(fraction)] => Some(*fraction),
            _ => return None,
        };
        let (call, form) = (PercentileCall { percentile, fraction, is_descending }, Form::of(id));
        call.states(form).map(|_| (call, form))
    }

    /// Whether the state of an accumulator is a few values, which do not depend on an order.
    fn has_parts(&self) -> Result<bool, SqlError> {
        let is_plain = self.order.is_empty() && self.equalities.is_none();
        Ok(is_plain && self.aggregate.merges() && self.start()?.parts().is_some())
    }
}

/// An aggregate of braid-sql as one of an operator.
#[derive(Debug)]
pub(in crate::lowering) struct Accumulating {
    call: Arc<AccumulationCall>,
    states: States,
    depends_on_order: bool,
}

/// Which states a call has.
#[derive(Clone, Copy, Debug)]
enum States {
    /// Of a fixed size.
    Fixed(FixedState),
    /// The values of a group.
    Percentile(PercentileCall, Form),
    /// Accumulators with parts.
    Merged,
    /// The rows of a group.
    Rows,
}

impl Accumulating {
    /// `depends_on_order` says whether the order of the input can matter for a call whose rows are kept.
    pub fn new(call: AccumulationCall, depends_on_order: bool) -> Result<Self, SqlError> {
        let states = match (call.fixed_state(), call.percentile()) {
            (Some(state), _) => States::Fixed(state),
            (None, Some((percentile, form))) => States::Percentile(percentile, form),
            (None, None) if call.has_parts()? => States::Merged,
            (None, None) => States::Rows,
        };
        Ok(Self { call: Arc::new(call), states, depends_on_order })
    }
}

impl fmt::Display for Accumulating {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.call.name)
    }
}

impl ForeignAggregate for Accumulating {
    fn states(&self) -> Box<dyn ForeignStates> {
        match self.states {
            States::Fixed(state) => fixed_states::states_of(state),
            States::Percentile(percentile, form) => percentile.states(form).expect("the call was asked before"),
            States::Merged => Box::new(MergedStates::new(self.call.clone())),
            States::Rows => Box::new(KeptRows::new(self.call.clone())),
        }
    }

    fn needs_order(&self) -> bool {
        matches!(self.states, States::Rows) && self.depends_on_order
    }
}
