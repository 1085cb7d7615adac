//! Intersections, unions and differences of query sets by their numbers. A worker computes each pair once.
//!
//! The memo of an operation is direct-mapped and has a fixed size. A pair replaces a colliding pair, which is computed again
//! when it occurs again.

use std::fmt;
use std::sync::Arc;

use crate::query_sets::set_store::{SetNumber, SetStore};
use crate::{Batch, ExecError, Vector};

/// Entries of a memo: 2^14 * 12 bytes = 192 KiB, which fits into a second-level cache together with data.
const MEMO_ENTRIES: usize = 1 << 14;

/// An operation on two sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetOperation {
    /// The intersection.
    Intersect,
    /// The union.
    Unite,
    /// The difference: the queries of the first set without those of the second.
    Subtract,
}

/// One worker's operations on sets.
pub struct SetCalculator {
    store: Arc<SetStore>,
    /// A memo for each operation, allocated at its first use.
    memos: [Option<Box<[MemoEntry]>>; 3],
    scratch: Vec<u64>,
}

#[derive(Clone, Copy)]
struct MemoEntry {
    a: SetNumber,
    b: SetNumber,
    result: SetNumber,
}

impl fmt::Debug for SetCalculator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SetCalculator").field("store", &self.store).finish_non_exhaustive()
    }
}

impl SetCalculator {
    /// A calculator for the sets of a pass.
    pub fn new(store: Arc<SetStore>) -> Self {
        Self { store, memos: [const { None }; 3], scratch: Vec::new() }
    }

    /// The sets.
    pub(crate) fn store(&self) -> &Arc<SetStore> {
        &self.store
    }

    /// The intersection of both sets.
    ///
    /// # Errors
    /// When memory for a new set is refused. The same applies to the other operations.
    #[inline]
    pub fn intersect(&mut self, a: SetNumber, b: SetNumber) -> Result<SetNumber, ExecError> {
        match (a, b) {
            _ if a == b => Ok(a),
            (SetNumber::ALL, other) | (other, SetNumber::ALL) => Ok(other),
            (SetNumber::EMPTY, _) | (_, SetNumber::EMPTY) => Ok(SetNumber::EMPTY),
            _ => self.compute(SetOperation::Intersect, a.min(b), a.max(b)),
        }
    }

    /// The union of both sets.
    #[inline]
    pub(crate) fn unite(&mut self, a: SetNumber, b: SetNumber) -> Result<SetNumber, ExecError> {
        match (a, b) {
            _ if a == b => Ok(a),
            (SetNumber::ALL, _) | (_, SetNumber::ALL) => Ok(SetNumber::ALL),
            (SetNumber::EMPTY, other) | (other, SetNumber::EMPTY) => Ok(other),
            _ => self.compute(SetOperation::Unite, a.min(b), a.max(b)),
        }
    }

    /// The queries of `a` without those of `b`.
    #[inline]
    pub(crate) fn subtract(&mut self, a: SetNumber, b: SetNumber) -> Result<SetNumber, ExecError> {
        match (a, b) {
            _ if a == b => Ok(SetNumber::EMPTY),
            (_, SetNumber::ALL) | (SetNumber::EMPTY, _) => Ok(SetNumber::EMPTY),
            (_, SetNumber::EMPTY) => Ok(a),
            _ => self.compute(SetOperation::Subtract, a, b),
        }
    }

    /// Replaces each of `sets` by the result of the operation on it and the element of `others` at the same position.
    pub(crate) fn apply(
        &mut self,
        operation: SetOperation,
        sets: &mut [SetNumber],
        others: &[SetNumber],
    ) -> Result<(), ExecError> {
        assert_eq!(sets.len(), others.len(), "sets of the same rows");
        for (set, other) in sets.iter_mut().zip(others) {
            *set = match operation {
                SetOperation::Intersect => self.intersect(*set, *other)?,
                SetOperation::Unite => self.unite(*set, *other)?,
                SetOperation::Subtract => self.subtract(*set, *other)?,
            };
        }
        Ok(())
    }

    #[inline]
    fn compute(&mut self, operation: SetOperation, a: SetNumber, b: SetNumber) -> Result<SetNumber, ExecError> {
        let at = memo_entry(a, b);
        // Pairs of equal sets never reach the memo, so that this initial entry matches no pair.
        let unused = MemoEntry { a: SetNumber::EMPTY, b: SetNumber::EMPTY, result: SetNumber::EMPTY };
        let memo = self.memos[operation as usize].get_or_insert_with(|| vec![unused; MEMO_ENTRIES].into());
        let entry = memo[at];
        if (entry.a, entry.b) == (a, b) {
            return Ok(entry.result);
        }
        self.compute_anew(operation, a, b, at)
    }

    #[cold]
    fn compute_anew(
        &mut self,
        operation: SetOperation,
        a: SetNumber,
        b: SetNumber,
        at: usize,
    ) -> Result<SetNumber, ExecError> {
        let scratch = &mut self.scratch;
        let result = match operation {
            SetOperation::Intersect => self.store.combined(a, b, |a, b| a & b, scratch)?,
            SetOperation::Unite => self.store.combined(a, b, |a, b| a | b, scratch)?,
            SetOperation::Subtract => self.store.combined(a, b, |a, b| a & !b, scratch)?,
        };
        if let Some(memo) = &mut self.memos[operation as usize] {
            memo[at] = MemoEntry { a, b, result };
        }
        Ok(result)
    }
}

/// The position of a pair in a memo.
fn memo_entry(a: SetNumber, b: SetNumber) -> usize {
    // Multiplication by 2^64 / golden ratio; the high bits are well mixed.
    let mixed = ((a.value() as u64) << 32 | b.value() as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed >> (64 - MEMO_ENTRIES.trailing_zeros())) as usize
}

/// The numbers in a column of sets. Panics if the column does not hold sets.
pub(crate) fn sets_of(column: &Vector) -> Vec<SetNumber> {
    match column.values() {
        crate::values::vector::Values::Int(values) => {
            values.iter().map(|value| SetNumber::from_value(*value)).collect()
        }
        _ => panic!("columns of sets hold integers"),
    }
}

/// Sets as a column.
pub(crate) fn set_column(sets: &[SetNumber]) -> Vector {
    Vector::integers(sets.iter().map(|set| set.value()).collect())
}

/// Drops the rows with an empty set.
pub(crate) fn drop_unwanted(batch: &mut Batch, sets: &mut Vec<SetNumber>) {
    if !sets.contains(&SetNumber::EMPTY) {
        return;
    }
    // The loop has no branch per row, because empty sets occur in no pattern.
    let mut kept = vec![0; sets.len()];
    let mut count = 0;
    for row in 0..sets.len() {
        let set = sets[row];
        kept[count] = row as u32;
        sets[count] = set;
        count += usize::from(set != SetNumber::EMPTY);
    }
    sets.truncate(count);
    batch.take(&kept[..count]);
}

#[cfg(test)]
mod tests {
    use braid_base::{ByteSize, Random, SeededRandom};
    use braid_testing::cases;

    use super::*;
    use crate::{FixedBudget, QueryBitmap, QueryNumber};

    /// More sets than the memo has entries for pairs of, so that pairs replace each other.
    #[test]
    fn operations_are_those_of_sets() {
        let case = cases!(1..2).next().expect("there is one");
        let mut random = case.random();
        let store = SetStore::new(130, FixedBudget::new(ByteSize(1 << 24))).unwrap();
        let mut calculator = SetCalculator::new(store.clone());
        let mut numbers = vec![SetNumber::EMPTY, SetNumber::ALL];
        for _ in 0..300 {
            let share = random.below(5);
            let words: Vec<bool> = (0..130).map(|_| random.chance(share, 4)).collect();
            numbers.push(store.number_of(&QueryBitmap::from_fn(130, |query| words[query.index()])).unwrap());
        }
        type Wanted = fn(bool, bool) -> bool;
        let operations: [(SetOperation, Wanted); 3] = [
            (SetOperation::Intersect, |a, b| a && b),
            (SetOperation::Unite, |a, b| a || b),
            (SetOperation::Subtract, |a, b| a && !b),
        ];
        for _ in 0..20_000 {
            let pick = |random: &mut SeededRandom| numbers[random.below(numbers.len() as u64) as usize];
            let (a, b) = (pick(&mut random), pick(&mut random));
            let (operation, wanted) = operations[random.below(3) as usize];
            let mut result = [a];
            calculator.apply(operation, &mut result, &[b]).unwrap();
            let has = |set: SetNumber| {
                let queries = store.queries(set);
                move |query: QueryNumber| queries.contains(&query)
            };
            let (in_a, in_b) = (has(a), has(b));
            let expected = (0..130).map(QueryNumber::at).filter(|query| wanted(in_a(*query), in_b(*query)));
            assert!(store.queries(result[0]).into_iter().eq(expected), "{operation:?} of {a:?} and {b:?}");
        }
    }
}
