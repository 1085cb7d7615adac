//! Aggregates: which functions take a row in, and give the result (`pg_aggregate`).

use super::entries::FunctionId;
use super::tsv::{number, optional, rows};

/// `pg_aggregate.aggkind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AggregateKind {
    /// An aggregate of rows in any order, or in that of ORDER BY within the call.
    Ordinary,
    /// An aggregate of rows in the order of WITHIN GROUP.
    OrderedSet,
    /// The place that a hypothetical row would have in that order.
    HypotheticalSet,
}

/// An aggregate.
#[derive(Debug)]
pub struct AggregateEntry {
    /// The aggregate as a function.
    pub function: FunctionId,
    /// What kind it is.
    pub kind: AggregateKind,
    /// How many arguments are evaluated once for a group, not for each row. The arguments of VARIADIC "any" are not among them.
    pub direct_arguments: usize,
    /// State and row to state. If it is strict, rows with a null argument are skipped.
    pub transition: FunctionId,
    /// State to result; without it the state is the result.
    pub finish: Option<FunctionId>,
    /// Two states to one; without it the order of rows matters.
    pub combine: Option<FunctionId>,
    /// The first state as text; without it the first row's argument is the state, or the transition function makes it.
    pub initial: Option<&'static str>,
    /// `<` or `>` if the result is the first value in the order of this operator.
    pub sort_operator: Option<&'static str>,
}

/// The rows of the file.
pub(super) fn read() -> impl Iterator<Item = AggregateEntry> {
    let columns =
        ["function", "kind", "direct_arguments", "transition", "final", "combine", "initial", "sort_operator"];
    rows(include_str!("../../postgres/aggregates.tsv"), columns).map(|row| {
        let [function, kind, direct_arguments, transition, finish, combine, initial, sort_operator] = row;
        AggregateEntry {
            function: FunctionId(number(function)),
            kind: match kind {
                "n" => AggregateKind::Ordinary,
                "o" => AggregateKind::OrderedSet,
                "h" => AggregateKind::HypotheticalSet,
                other => panic!("an aggregate of kind {other:?}"),
            },
            direct_arguments: direct_arguments.parse().expect("a count"),
            transition: FunctionId(number(transition)),
            finish: optional(finish).map(|finish| FunctionId(number(finish))),
            combine: optional(combine).map(|combine| FunctionId(number(combine))),
            initial: optional(initial),
            sort_operator: optional(sort_operator),
        }
    })
}
