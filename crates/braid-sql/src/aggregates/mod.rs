//! What computes PostgreSQL's aggregates.
//!
//! An aggregate takes the rows of a group one by one into an accumulator, which then gives the result. The caller passes rows in the
//! order in which they count: ORDER BY, DISTINCT and FILTER within a call, and the order of WITHIN GROUP, are its own work. Accumulators
//! of parts of a group are merged where PostgreSQL's workers do so; of floats the result then depends on the parts, as PostgreSQL's does.
//!
//! | module | contents |
//! |---|---|
//! | [`accumulator`] | what takes rows in |
//! | [`folds`] | aggregates whose state is a value: `min`, `max`, `bit_and`, `bool_or`, sums of floats |
//! | [`counts`] | `count` |
//! | [`numerics`] | exact sums, averages and variances |
//! | [`floats`], [`regressions`] | averages and variances of floats, and of pairs of them |
//! | [`intervals`] | the average of intervals |
//! | [`concatenations`] | `string_agg` |
//! | [`arrays`] | `array_agg` |
//! | [`json`] | `json_agg`, `json_object_agg`, and their like for jsonb |
//! | [`ordered_sets`], [`hypothetical_sets`] | aggregates with WITHIN GROUP |

pub mod accumulator;
pub mod arrays;
pub mod concatenations;
pub mod counts;
pub mod floats;
pub mod folds;
pub mod hypothetical_sets;
pub mod intervals;
pub mod json;
pub mod numerics;
pub mod ordered_sets;
pub mod regressions;

use std::sync::LazyLock;

pub use accumulator::Accumulator;
use floats::FloatFinish;
use folds::{BitOperation, Fold};
use ordered_sets::Percentile;
use regressions::PairFinish;

use crate::functions::ordering::SortKey;
use crate::functions::{Call, Implementation, implementation_of};
use crate::pg_catalog::{AggregateEntry, AggregateKind, CatalogMap, FunctionEntry, FunctionId, pg_catalog};
use crate::{SqlError, Value};

/// Makes an accumulator without rows. The keys are those of WITHIN GROUP, and none for an ordinary aggregate.
pub type Start = fn(&Call<'_>, &[SortKey]) -> Result<Box<dyn Accumulator>, SqlError>;

/// Aggregates by the C functions of transition and result, in this order, with a blank between; without the second for an aggregate
/// whose state is its result.
pub type Aggregates = &'static [(&'static str, Start)];

/// The tables of all modules.
const TABLES: &[Aggregates] = &[
    arrays::AGGREGATES,
    concatenations::AGGREGATES,
    counts::AGGREGATES,
    floats::AGGREGATES,
    hypothetical_sets::AGGREGATES,
    intervals::AGGREGATES,
    json::AGGREGATES,
    numerics::AGGREGATES,
    ordered_sets::AGGREGATES,
    regressions::AGGREGATES,
];

static BY_FUNCTIONS: LazyLock<CatalogMap<&'static str, Start>> = LazyLock::new(|| {
    let mut by_functions = CatalogMap::default();
    for (functions, start) in TABLES.iter().copied().flatten() {
        assert!(by_functions.insert(*functions, *start).is_none(), "{functions} is there twice");
    }
    by_functions
});

/// An aggregate that Braid computes.
#[derive(Clone, Copy, Debug)]
pub struct Aggregate {
    entry: &'static AggregateEntry,
    method: Method,
}

#[derive(Clone, Copy, Debug)]
enum Method {
    Started(Start),
    Folded { transition: Implementation, combine: Option<Implementation> },
}

impl Aggregate {
    /// What computes an aggregate; `None` if Braid does not have it, or for a function of another kind.
    pub fn of(function: &FunctionEntry) -> Option<Self> {
        let entry = pg_catalog().aggregate(function.id)?;
        let method = match BY_FUNCTIONS.get(functions_of(entry).as_str()) {
            Some(start) => Method::Started(*start),
            None => folded(entry)?,
        };
        Some(Self { entry, method })
    }

    /// Whether its arguments are those of a row, or come from WITHIN GROUP.
    pub fn kind(&self) -> AggregateKind {
        self.entry.kind
    }

    /// How many of the call's first arguments are evaluated once for the group: those before WITHIN GROUP. A hypothetical-set aggregate
    /// has as many as keys; the catalog says 1.
    pub fn direct_arguments(&self) -> usize {
        self.entry.direct_arguments
    }

    /// Whether accumulators of parts of a group can be merged. If not, the order of rows matters.
    pub fn merges(&self) -> bool {
        self.entry.combine.is_some()
    }

    /// Whether rows with a null argument change nothing. The caller may pass them all the same.
    pub fn skips_nulls(&self) -> bool {
        pg_catalog().function(self.entry.transition).is_strict
    }

    /// An accumulation without rows. The call has the types of all arguments: the direct ones, then those of a row. `keys` are those of
    /// WITHIN GROUP, and none for an ordinary aggregate.
    pub fn start(&self, call: &Call<'_>, keys: &[SortKey]) -> Result<Accumulation, SqlError> {
        let accumulator: Box<dyn Accumulator> = match self.method {
            Method::Started(start) => start(call, keys)?,
            Method::Folded { transition, combine } => Box::new(Fold::new(transition, combine)),
        };
        Ok(Accumulation { accumulator, skips_nulls: self.skips_nulls() })
    }
}

/// The state of an aggregate of numbers that has a fixed size, for states by group that are no [`Accumulation`]s. Rows with nulls are
/// skipped.
#[derive(Clone, Copy, Debug)]
pub enum FixedState {
    /// The moments of floats.
    Floats(FloatFinish),
    /// The moments of pairs of floats.
    Pairs(PairFinish),
    /// How many pairs of floats there are.
    PairCount,
    /// The bits of integers; null without any.
    Bits(BitOperation),
}

impl Aggregate {
    /// Its state, if that has a fixed size.
    pub fn fixed_state(&self) -> Option<FixedState> {
        let functions = functions_of(self.entry);
        let of_floats = || floats::FINISHES.iter().find(|(own, _)| *own == functions);
        let of_pairs = || regressions::FINISHES.iter().find(|(own, _)| *own == functions);
        if functions == counts::COUNT_OF_PAIRS {
            return Some(FixedState::PairCount);
        }
        let moments = of_floats().map(|(_, finish)| FixedState::Floats(*finish));
        let moments = moments.or_else(|| of_pairs().map(|(_, finish)| FixedState::Pairs(*finish)));
        moments.or_else(|| BitOperation::of(&functions).map(FixedState::Bits))
    }

    /// The percentile of one fraction that it is, if it is one of floats, or the value of a row.
    pub fn percentile(&self) -> Option<Percentile> {
        Percentile::of(&functions_of(self.entry))
    }
}

/// The key of an aggregate in the tables.
fn functions_of(entry: &AggregateEntry) -> String {
    let symbol = |id: FunctionId| pg_catalog().function(id).symbol.unwrap_or_default();
    let transition = symbol(entry.transition);
    entry.finish.map_or(transition.to_owned(), |finish| format!("{transition} {}", symbol(finish)))
}

/// An aggregate whose state and result is a value that an ordinary function makes of two.
fn folded(entry: &AggregateEntry) -> Option<Method> {
    let function = pg_catalog().function(entry.transition);
    if !function.is_strict || function.arguments.len() != 2 || entry.finish.is_some() || entry.initial.is_some() {
        return None;
    }
    let combine = entry.combine.map(|combine| implementation_of(pg_catalog().function(combine)));
    let transition = implementation_of(function)?;
    match combine {
        Some(None) => None,
        combine => Some(Method::Folded { transition, combine: combine.flatten() }),
    }
}

/// The rows of a group, or of a part of it, that an aggregate has seen.
#[derive(Debug)]
pub struct Accumulation {
    accumulator: Box<dyn Accumulator>,
    skips_nulls: bool,
}

impl Accumulation {
    /// Takes a row in: its arguments without the direct ones.
    pub fn add(&mut self, arguments: &[Value], call: &Call<'_>) -> Result<(), SqlError> {
        if self.skips_nulls && arguments.iter().any(Value::is_null) {
            return Ok(());
        }
        self.accumulator.add(arguments, call)
    }

    /// Takes a row out again, for a frame that moves. `false` says that it cannot: the caller begins anew.
    pub fn remove(&mut self, arguments: &[Value], call: &Call<'_>) -> Result<bool, SqlError> {
        if self.skips_nulls && arguments.iter().any(Value::is_null) {
            return Ok(true);
        }
        self.accumulator.remove(arguments, call)
    }

    /// Takes the rows of another part in. Panics if the aggregate does not [merge](Aggregate::merges), and for another aggregate's part.
    pub fn merge(&mut self, other: Self, call: &Call<'_>) -> Result<(), SqlError> {
        self.accumulator.merge(other.accumulator, call)
    }

    /// What it knows of its rows, in few values; `None` if the aggregate does not [merge](Aggregate::merges), or its state is as long as the
    /// rows are. An aggregate has parts always, or never.
    pub fn parts(&self) -> Option<Vec<Value>> {
        self.accumulator.parts()
    }

    /// Takes the rows of another part in, of which these are the [parts](Self::parts). Panics if the aggregate has none.
    ///
    /// # Errors
    /// Those of merging; an internal error for values that are not parts of this aggregate.
    pub fn merge_parts(&mut self, parts: &[Value], call: &Call<'_>) -> Result<(), SqlError> {
        self.accumulator.merge_parts(parts, call)
    }

    /// The result for the rows so far, with the values of the direct arguments. More rows may follow.
    pub fn finish(&self, direct: &[Value], call: &Call<'_>) -> Result<Value, SqlError> {
        self.accumulator.finish(direct, call)
    }

    /// Bytes of memory that it holds, about.
    pub fn bytes(&self) -> usize {
        size_of::<Self>() + self.accumulator.bytes()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_table_row_belongs_to_an_aggregate() {
        let catalog = pg_catalog();
        let known: HashSet<String> =
            catalog.functions().filter_map(|function| catalog.aggregate(function.id)).map(functions_of).collect();
        let unknown: Vec<_> = BY_FUNCTIONS.keys().filter(|functions| !known.contains(**functions)).collect();
        assert!(unknown.is_empty(), "the catalog has no {unknown:?}");
    }
}
