//! An index over the predicates of many queries on one column, from a value to its query set (ClockScan's query-data join,
//! SharedDB section 4.4).
//!
//! The constants of all predicates, sorted and without duplicates, divide the column's order into slots. Slot 2k + 1 is the
//! k-th constant itself, and slot 2k is the range between it and the previous constant. Comparisons, BETWEEN, equality, IN, LIKE
//! 'x%' (the range from x to the next string that does not begin with x) and their negations all are unions of slots, so one
//! sweep over the slots gives each its set of queries. Slots with equal sets are one class ([`ClassSets`]).
//!
//! For integers of a small range (integers, dates, amounts), the slot of a value is found by one table lookup, for any number
//! of queries. Otherwise it is found by a branch-free binary search over the constants. For a segment with a dictionary,
//! the search runs once for each value of the dictionary.
//!
//! A query without a predicate on the column accepts every row, including nulls. The index excludes unordered values
//! (intervals) and conditions on several columns; the caller evaluates these on the remaining rows.

mod slot_ranges;

use std::cmp::Ordering;
use std::collections::HashMap;
use std::fmt;
use std::ops::Bound;

use braid_storage::{ColumnPredicate, Scalar};

use crate::query_sets::query_bitmap::{QueryBitmap, words_for};
use crate::{ClassSets, QueryNumber, RowClass};
use slot_ranges::SlotRanges;

/// Maximum range of integers that are looked up in a table: 2^16 classes of 4 bytes fit into a second-level cache.
const TABLE_VALUES_MAX: i128 = 1 << 16;

/// Maximum number of values that a hull lists. Beyond that, the hull is a range.
const HULL_VALUES_MAX: usize = 64;

/// The predicates of the queries of one pass on one column.
#[derive(Debug)]
pub struct PredicateIndex {
    sets: ClassSets,
    constants: Constants,
    /// The class of each slot.
    slots: Vec<RowClass>,
    null: RowClass,
    /// The table for integers of a small range.
    table: Option<ClassTable>,
}

/// The sorted constants.
#[derive(Debug)]
enum Constants {
    Integers(Vec<i64>),
    Others(Vec<Scalar>),
}

/// The class of every integer in a range. Integers outside have the class of the nearer end.
#[derive(Debug)]
struct ClassTable {
    first: i64,
    last: i64,
    classes: Vec<RowClass>,
}

/// The error for a predicate on an unordered type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unordered;

impl fmt::Display for Unordered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("intervals have no order that predicates can be indexed by")
    }
}

impl std::error::Error for Unordered {}

impl PredicateIndex {
    /// Indexes the predicates of a pass of `query_count` queries. If a query has several predicates on the column, all must
    /// hold; a query without predicates accepts every row. All constants must have the column's physical type.
    ///
    /// # Errors
    /// When a constant is an interval.
    ///
    /// Panics when constants are of different types.
    pub fn new(query_count: usize, predicates: &[(QueryNumber, ColumnPredicate)]) -> Result<Self, Unordered> {
        let constants = sorted_constants(predicates)?;
        let slot_count = 2 * constants.len() + 1;
        let mut wanted: HashMap<QueryNumber, (SlotRanges, bool)> = HashMap::new();
        for (query, predicate) in predicates {
            let (ranges, nulls) = slots_of(predicate, &constants);
            let entry = wanted.entry(*query).or_insert_with(|| (SlotRanges::all(slot_count), true));
            *entry = (entry.0.intersect(&ranges), entry.1 && nulls);
        }
        let null_set = QueryBitmap::from_fn(query_count, |query| wanted.get(&query).is_none_or(|(_, nulls)| *nulls));
        let mut classes = ClassesByBitmap::new(query_count);
        let slots = sweep(query_count, slot_count, &wanted, &mut classes);
        let null = classes.class_of(&null_set);
        let constants = Constants::from_scalars(constants);
        let table = ClassTable::new(&constants, &slots);
        Ok(Self { sets: ClassSets::new(query_count, classes.bitmaps), constants, slots, null, table })
    }

    /// Upper bound of the bytes that [`Self::new`] and the index take: each constant makes at most two slots, each slot at most
    /// one class with two bitmaps during construction, and there may be a table.
    pub fn bytes_max(query_count: usize, predicates: &[(QueryNumber, ColumnPredicate)]) -> usize {
        let constants = |(_, predicate): &(QueryNumber, ColumnPredicate)| match predicate {
            ColumnPredicate::In(values) | ColumnPredicate::NotIn(values) => values.len(),
            ColumnPredicate::Range { .. } => 2,
            ColumnPredicate::NotEqual(_) => 1,
            ColumnPredicate::IsNull | ColumnPredicate::IsNotNull => 0,
        };
        let constant_count: usize = predicates.iter().map(constants).sum();
        let class_count = 2 * constant_count + 3;
        let table = TABLE_VALUES_MAX as usize * size_of::<RowClass>();
        class_count * (2 * words_for(query_count) * 8 + size_of::<RowClass>()) + constant_count * 32 + table
    }

    /// The queries of each class.
    pub fn sets(&self) -> &ClassSets {
        &self.sets
    }

    /// The class of null.
    pub fn class_of_null(&self) -> RowClass {
        self.null
    }

    /// The class of a value. Panics if its type differs from the constants'.
    pub fn class_of(&self, value: &Scalar) -> RowClass {
        match (&self.constants, value) {
            (Constants::Integers(constants), Scalar::Int(value)) => self.slots[slot_of_integer(constants, *value)],
            (Constants::Others(constants), value) => {
                let at = constants.partition_point(|constant| order(constant, value) == Ordering::Less);
                let is_constant = constants.get(at).is_some_and(|constant| order(constant, value) == Ordering::Equal);
                self.slots[2 * at + usize::from(is_constant)]
            }
            (Constants::Integers(constants), Scalar::Int128(value)) => match i64::try_from(*value) {
                Ok(value) => self.slots[slot_of_integer(constants, value)],
                // A value beyond 64 bits is below or above all constants.
                Err(_) => self.slots[if *value < 0 { 0 } else { self.slots.len() - 1 }],
            },
            (Constants::Integers(_), other) => panic!("{other:?} looked up among integers"),
        }
    }

    /// A predicate that holds for every value with a non-empty set, from the least to the greatest; `None` if there is no
    /// restriction.
    pub fn hull(&self) -> Option<ColumnPredicate> {
        if self.null != RowClass::EMPTY {
            return None;
        }
        let is_wanted = |class: &RowClass| *class != RowClass::EMPTY;
        let Some(first) = self.slots.iter().position(is_wanted) else { return Some(ColumnPredicate::In(Vec::new())) };
        let last = self.slots.iter().rposition(is_wanted).expect("there is a first");
        // Even slots are the ranges between constants.
        let bound = |slot: usize, constant: usize| match slot % 2 {
            1 => Bound::Included(self.constants.scalar(slot / 2)),
            _ => Bound::Excluded(self.constants.scalar(constant)),
        };
        let low = if first == 0 { Bound::Unbounded } else { bound(first, (first - 1) / 2) };
        let high = if last + 1 == self.slots.len() { Bound::Unbounded } else { bound(last, last / 2) };
        let wanted = || (first..=last).filter(|slot| is_wanted(&self.slots[*slot]));
        if last - first < 2 * HULL_VALUES_MAX && wanted().all(|slot| slot % 2 == 1) {
            return Some(ColumnPredicate::In(wanted().map(|slot| self.constants.scalar(slot / 2)).collect()));
        }
        Some(ColumnPredicate::Range { low, high })
    }

    /// Appends the classes of integers. Panics if the constants are not integers.
    pub fn classes_of_integers(&self, values: &[i64], classes: &mut Vec<RowClass>) {
        self.map_integers(values, |class| class, classes);
    }

    /// Appends `map` of the classes of integers. Panics if the constants are not integers.
    #[inline]
    pub(crate) fn map_integers<T>(&self, values: &[i64], map: impl Fn(RowClass) -> T, out: &mut Vec<T>) {
        match (&self.table, &self.constants) {
            (Some(table), _) => out.extend(values.iter().map(|value| map(table.class_of(*value)))),
            (None, Constants::Integers(constants)) => {
                out.extend(values.iter().map(|value| map(self.slots[slot_of_integer(constants, *value)])));
            }
            // Without predicates there is one slot.
            (None, Constants::Others(constants)) if constants.is_empty() => {
                out.extend(values.iter().map(|_| map(self.slots[0])));
            }
            (None, Constants::Others(_)) => panic!("integers looked up among other constants"),
        }
    }
}

/// The slot of an integer: twice the number of constants below it, plus 1 if it is a constant itself.
#[inline]
fn slot_of_integer(constants: &[i64], value: i64) -> usize {
    let (mut below, mut size) = (0, constants.len());
    while size > 0 {
        let half = size.div_ceil(2);
        // The compiler turns this into a conditional move, without a branch on the data.
        below += if constants[below + half - 1] < value { half } else { 0 };
        size -= half;
    }
    2 * below + usize::from(constants.get(below) == Some(&value))
}

impl Constants {
    fn scalar(&self, at: usize) -> Scalar {
        match self {
            Self::Integers(constants) => Scalar::Int(constants[at]),
            Self::Others(constants) => constants[at].clone(),
        }
    }

    fn from_scalars(scalars: Vec<Scalar>) -> Self {
        let integers = scalars.iter().map(|scalar| match scalar {
            Scalar::Int(value) => Some(*value),
            _ => None,
        });
        match integers.collect::<Option<Vec<i64>>>() {
            Some(integers) if !integers.is_empty() => Self::Integers(integers),
            _ => Self::Others(scalars),
        }
    }
}

impl ClassTable {
    /// A table, if the constants are integers of a small range.
    fn new(constants: &Constants, slots: &[RowClass]) -> Option<Self> {
        let Constants::Integers(constants) = constants else { return None };
        // One value on each side represents all values beyond it.
        let first = constants.first()?.saturating_sub(1);
        let last = constants.last()?.saturating_add(1);
        if i128::from(last) - i128::from(first) >= TABLE_VALUES_MAX {
            return None;
        }
        let classes = (first..=last).map(|value| slots[slot_of_integer(constants, value)]).collect();
        Some(Self { first, last, classes })
    }

    #[inline]
    fn class_of(&self, value: i64) -> RowClass {
        // The clamp keeps the difference below the table's length.
        self.classes[(value.clamp(self.first, self.last) - self.first) as usize]
    }
}

/// Classes by their queries, while an index is being built.
struct ClassesByBitmap {
    bitmaps: Vec<QueryBitmap>,
    numbers: HashMap<QueryBitmap, RowClass>,
}

impl ClassesByBitmap {
    fn new(query_count: usize) -> Self {
        let mut classes = Self { bitmaps: Vec::new(), numbers: HashMap::new() };
        let empty = classes.class_of(&QueryBitmap::none(query_count));
        assert_eq!(empty, RowClass::EMPTY);
        classes
    }

    fn class_of(&mut self, bitmap: &QueryBitmap) -> RowClass {
        if let Some(class) = self.numbers.get(bitmap) {
            return *class;
        }
        let class = RowClass(u32::try_from(self.bitmaps.len()).expect("there are fewer classes than slots"));
        self.bitmaps.push(bitmap.clone());
        self.numbers.insert(bitmap.clone(), class);
        class
    }
}

/// The class of each slot, computed from left to right. A query enters the set at the start of a range and leaves it at the
/// end.
fn sweep(
    query_count: usize,
    slot_count: usize,
    wanted: &HashMap<QueryNumber, (SlotRanges, bool)>,
    classes: &mut ClassesByBitmap,
) -> Vec<RowClass> {
    let mut entering: Vec<Vec<QueryNumber>> = vec![Vec::new(); slot_count + 1];
    let mut leaving = entering.clone();
    for (query, (ranges, _)) in wanted {
        for range in ranges.iter() {
            entering[range.start].push(*query);
            leaving[range.end].push(*query);
        }
    }
    let mut current = QueryBitmap::from_fn(query_count, |query| !wanted.contains_key(&query));
    let mut slots = Vec::with_capacity(slot_count);
    for slot in 0..slot_count {
        leaving[slot].iter().for_each(|query| current.remove(*query));
        entering[slot].iter().for_each(|query| current.insert(*query));
        let unchanged = slot > 0 && leaving[slot].is_empty() && entering[slot].is_empty();
        slots.push(if unchanged { slots[slot - 1] } else { classes.class_of(&current) });
    }
    slots
}

/// The slots whose values satisfy the predicate, and whether null does.
fn slots_of(predicate: &ColumnPredicate, constants: &[Scalar]) -> (SlotRanges, bool) {
    let slot_count = 2 * constants.len() + 1;
    let slot = |value: &Scalar| 2 * constants.partition_point(|constant| order(constant, value) == Ordering::Less) + 1;
    let ranges = match predicate {
        ColumnPredicate::Range { low, high } => {
            let start = match low {
                Bound::Unbounded => 0,
                Bound::Included(low) => slot(low),
                Bound::Excluded(low) => slot(low) + 1,
            };
            let end = match high {
                Bound::Unbounded => slot_count,
                Bound::Included(high) => slot(high) + 1,
                Bound::Excluded(high) => slot(high),
            };
            SlotRanges::one(start..end)
        }
        ColumnPredicate::NotEqual(value) => SlotRanges::points([slot(value)]).not(slot_count),
        ColumnPredicate::In(values) => SlotRanges::points(values.iter().map(slot)),
        ColumnPredicate::NotIn(values) => SlotRanges::points(values.iter().map(slot)).not(slot_count),
        ColumnPredicate::IsNull => return (SlotRanges::none(), true),
        ColumnPredicate::IsNotNull => SlotRanges::all(slot_count),
    };
    (ranges, false)
}

/// All constants of the predicates, ascending, each once.
fn sorted_constants(predicates: &[(QueryNumber, ColumnPredicate)]) -> Result<Vec<Scalar>, Unordered> {
    let mut constants: Vec<Scalar> = Vec::new();
    for (_, predicate) in predicates {
        match predicate {
            ColumnPredicate::Range { low, high } => constants.extend([low, high].into_iter().filter_map(constant_of)),
            ColumnPredicate::NotEqual(value) => constants.push(value.clone()),
            ColumnPredicate::In(values) | ColumnPredicate::NotIn(values) => constants.extend(values.iter().cloned()),
            ColumnPredicate::IsNull | ColumnPredicate::IsNotNull => {}
        }
    }
    if constants.iter().any(|constant| matches!(constant, Scalar::Interval(..))) {
        return Err(Unordered);
    }
    constants.sort_by(order);
    constants.dedup();
    Ok(constants)
}

fn constant_of(bound: &Bound<Scalar>) -> Option<Scalar> {
    match bound {
        Bound::Unbounded => None,
        Bound::Included(value) | Bound::Excluded(value) => Some(value.clone()),
    }
}

fn order(a: &Scalar, b: &Scalar) -> Ordering {
    a.compare(b).unwrap_or_else(|| panic!("{a:?} and {b:?} are of different types"))
}

#[cfg(test)]
mod tests;
