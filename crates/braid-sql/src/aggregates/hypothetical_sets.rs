//! Hypothetical-set aggregates: the rank that a row would have among the others, nulls included.

use super::accumulator::Accumulator;
use super::{Aggregates, Start};
use crate::functions::Call;
use crate::functions::ordering::{SortKey, compare_rows};
use crate::{SqlError, Value};

/// An aggregate with a result of the ranks.
macro_rules! of_ranks {
    ($finish:expr) => {{
        const START: Start = |_, keys| Ok(Box::new(Ranked::new(keys, $finish)));
        START
    }};
}

/// `rank`, `dense_rank`, `percent_rank` and `cume_dist` with WITHIN GROUP.
pub const AGGREGATES: Aggregates = &[
    ("ordered_set_transition_multi hypothetical_rank_final", of_ranks!(|ranks| Value::Int8(ranks.before + 1))),
    (
        "ordered_set_transition_multi hypothetical_dense_rank_final",
        of_ranks!(|ranks| Value::Int8(ranks.distinct_before + 1)),
    ),
    (
        "ordered_set_transition_multi hypothetical_percent_rank_final",
        of_ranks!(|ranks| match ranks.count {
            0 => Value::Float8(0.0),
            count => Value::Float8(ranks.before as f64 / count as f64),
        }),
    ),
    (
        "ordered_set_transition_multi hypothetical_cume_dist_final",
        of_ranks!(|ranks| { Value::Float8((ranks.before + ranks.peers + 1) as f64 / (ranks.count + 1) as f64) }),
    ),
];

/// Counts of rows beside the hypothetical one.
#[derive(Default)]
struct Ranks {
    count: i64,
    before: i64,
    /// Of those before it, without the ones equal to the row before.
    distinct_before: i64,
    /// Those equal to it.
    peers: i64,
}

#[derive(Debug)]
struct Ranked {
    keys: Vec<SortKey>,
    finish: fn(&Ranks) -> Value,
    /// The rows in their order.
    rows: Vec<Vec<Value>>,
    heap_bytes: usize,
}

impl Ranked {
    fn new(keys: &[SortKey], finish: fn(&Ranks) -> Value) -> Self {
        Self { keys: keys.to_vec(), finish, rows: Vec::new(), heap_bytes: 0 }
    }

    fn ranks(&self, hypothetical: &[Value], call: &Call<'_>) -> Result<Ranks, SqlError> {
        let compare = |left: &[Value], right: &[Value]| compare_rows(&self.keys, left, right, call.session);
        let mut ranks = Ranks { count: self.rows.len() as i64, ..Ranks::default() };
        for (at, row) in self.rows.iter().enumerate() {
            let ordering = compare(row, hypothetical)?;
            if ordering.is_gt() {
                break;
            }
            ranks.peers += i64::from(ordering.is_eq());
            if ordering.is_lt() {
                let is_repeated = at > 0 && compare(&self.rows[at - 1], row)?.is_eq();
                ranks.before += 1;
                ranks.distinct_before += i64::from(!is_repeated);
            }
        }
        Ok(ranks)
    }
}

impl Accumulator for Ranked {
    fn add(&mut self, arguments: &[Value], _call: &Call<'_>) -> Result<(), SqlError> {
        self.heap_bytes += size_of_val(arguments) + arguments.iter().map(Value::heap_bytes).sum::<usize>();
        self.rows.push(arguments.to_vec());
        Ok(())
    }

    fn finish(&self, direct: &[Value], call: &Call<'_>) -> Result<Value, SqlError> {
        Ok((self.finish)(&self.ranks(direct, call)?))
    }

    fn bytes(&self) -> usize {
        size_of::<Self>() + self.rows.capacity() * size_of::<Vec<Value>>() + self.heap_bytes
    }
}
