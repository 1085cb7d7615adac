//! A dimension of a merged pass, built once for all templates.
//!
//! One scan gives each row its query set: the intersection of the sets of its columns' classes, over the bits of all queries. A
//! dimension has few distinct sets, so that they are interned and their numbers serve as classes. The pass finds the class of a
//! fact row by its key, and only rows that a branch keeps look up the dimension's row. Keys are addresses of arrays, as in the
//! engine's joins on keys of a small range.
//!
//! The rule of CJOIN (VLDB 2009): a fact row keeps the bits of the queries that do not join the dimension, whether it has a
//! partner or not. This is right only if it has at most one, so that the build fails on repeated keys.

use std::sync::Arc;

use braid_exec::plan::{Plan, SortSpec};
use braid_exec::query_sets::set_calculator::SetCalculator;
use braid_exec::runtime::pipeline::Sink;
use braid_exec::runtime::result_rows::ResultRows;
use braid_exec::runtime::stop::Stop;
use braid_exec::sorting::SortWorker;
use braid_exec::values::vector::Values;
use braid_exec::{Batch, ByteStrings, ExecError, PredicateIndex, SetNumber, SetStore, Vector};
use braid_storage::Scalar;

use super::pass_runtime::{PassRuntime, failed};
use super::row_words::ClassWords;
use super::star_template::DimensionTable;
use crate::BenchError;

/// The class of a key without a partner. The others are the numbers of sets, plus one.
const NO_PARTNER: u16 = 0;

/// The place of a key without a row.
const NO_ROW: u32 = u32::MAX;

/// Maximum range of the keys. The engine would hash keys of a larger range.
const ADDRESSES_MAX: u64 = 1 << 26;

/// The specification of a dimension.
pub struct DimensionSpec {
    /// The table.
    pub table: DimensionTable,
    /// The columns that are read: the key, those that branches group by, and further ones with conditions.
    pub columns: Vec<&'static str>,
    /// Number of leading columns that are kept: the key and the grouped ones.
    pub kept_count: usize,
    /// The columns with conditions: positions among the columns, and indexes over the bits of the pass.
    pub conditions: Vec<(usize, Arc<PredicateIndex>)>,
    /// The bits of each word that have a query.
    pub used: Vec<u64>,
    /// Those of queries that do not join the dimension.
    pub others: Vec<u64>,
}

/// A dimension that is complete.
pub struct Dimension {
    /// The table.
    pub table: DimensionTable,
    /// The kept columns, followed by the number of each row's set.
    pub rows: Arc<ResultRows>,
    /// The words of the classes.
    pub words: ClassWords,
    first_key: i64,
    /// The class of each key from `first_key` on; at the end that of all other keys.
    classes: Vec<u16>,
    /// The row of each key, likewise.
    places: Vec<u32>,
}

impl DimensionSpec {
    /// Scans the table and makes the dimension.
    ///
    /// # Errors
    /// When the scan fails, a key repeats, or the range of the keys is too large.
    pub async fn build(self, scan: Plan, runtime: PassRuntime) -> Result<Dimension, BenchError> {
        let bit_count = self.used.len() * u64::BITS as usize;
        let store = SetStore::new(bit_count, runtime.budget.clone()).map_err(failed)?;
        let conditions: Vec<Condition> = self
            .conditions
            .iter()
            .map(|(column, index)| Condition::new(*column, index.clone(), &store))
            .collect::<Result<_, ExecError>>()
            .map_err(failed)?;
        let no_order = Arc::new(SortSpec { keys: Vec::new(), limit: None });
        let make_sink = || DimensionSink {
            conditions: conditions.clone(),
            calculator: SetCalculator::new(store.clone()),
            sets: Vec::new(),
            of_column: Vec::new(),
            kept_count: self.kept_count,
            rows: SortWorker::new(no_order.clone(), runtime.budget.clone()),
        };
        let sinks = runtime.executor().run(&scan, make_sink).await.map_err(failed)?;
        let sinks = sinks.into_iter().map(|sink| sink.rows).collect();
        let rows = SortWorker::finish(sinks, self.kept_count + 1).map_err(failed)?;
        self.index(rows, &store)
    }

    fn index(self, rows: ResultRows, store: &SetStore) -> Result<Dimension, BenchError> {
        let unsuitable = |reason: String| BenchError::other(format!("building {}", self.table.name()), reason);
        let integers = |vector: &Vector| match (vector.values(), vector.valid()) {
            (Values::Int(values), None) => Ok(values.clone()),
            _ if vector.is_empty() => Ok(Vec::new()),
            _ => Err(unsuitable("a key is null, or is no integer".to_owned())),
        };
        let (keys, sets) = (integers(&rows.columns()[0])?, integers(&rows.columns()[self.kept_count])?);
        let first_key = keys.iter().min().copied().unwrap_or(0);
        let range = keys.iter().max().map_or(0, |last| last.abs_diff(first_key).saturating_add(1));
        if range > ADDRESSES_MAX {
            return Err(unsuitable(format!("its keys have a range of {range}, more than {ADDRESSES_MAX}")));
        }
        if store.set_count() >= usize::from(u16::MAX) {
            return Err(unsuitable(format!("its rows have {} query sets, more than 2^16", store.set_count())));
        }
        let mut classes = vec![NO_PARTNER; range as usize + 1];
        let mut places = vec![NO_ROW; range as usize + 1];
        for (row, (key, set)) in (0u32..).zip(keys.iter().zip(&sets)) {
            let address = key.abs_diff(first_key) as usize;
            if places[address] != NO_ROW {
                return Err(unsuitable(format!("key {key} repeats, so that its templates cannot merge")));
            }
            places[address] = row;
            classes[address] = *set as u16 + 1;
        }
        let bits_of = |set: usize| {
            let mut words = vec![0u64; self.used.len()];
            for query in store.queries(SetNumber::from_value(set as i64)) {
                words[query.index() / 64] |= 1 << (query.index() % 64);
            }
            words
        };
        let by_class: Vec<Vec<u64>> =
            std::iter::once(self.others.clone()).chain((0..store.set_count()).map(bits_of)).collect();
        let words = ClassWords::new(&self.used, by_class.len(), |class, word| by_class[class][word]);
        Ok(Dimension { table: self.table, rows: Arc::new(rows), words, first_key, classes, places })
    }
}

impl Dimension {
    /// Replaces `classes` by those of the keys.
    #[inline]
    pub fn classes_of(&self, keys: &[i64], classes: &mut Vec<u16>) {
        let last = self.classes.len() - 1;
        classes.clear();
        classes.extend(keys.iter().map(|key| self.classes[self.address(*key).min(last)]));
    }

    /// Appends the rows of the keys at these positions. Panics when one has no partner.
    #[inline]
    pub fn append_rows(&self, keys: &[i64], positions: &[u32], rows: &mut Vec<u32>) {
        rows.extend(positions.iter().map(|at| self.places[self.address(keys[*at as usize])]));
    }

    #[inline]
    fn address(&self, key: i64) -> usize {
        (key as u64).wrapping_sub(self.first_key as u64) as usize
    }
}

/// One worker's rows of a dimension.
struct DimensionSink {
    conditions: Vec<Condition>,
    calculator: SetCalculator,
    sets: Vec<SetNumber>,
    of_column: Vec<SetNumber>,
    kept_count: usize,
    rows: SortWorker,
}

impl Sink for DimensionSink {
    fn consume(&mut self, mut batch: Batch) -> Result<(), Stop> {
        self.sets.clear();
        self.sets.resize(batch.row_count(), SetNumber::ALL);
        for condition in &mut self.conditions {
            condition.sets_of(&batch.column(condition.column), &mut self.of_column);
            for (set, other) in self.sets.iter_mut().zip(&self.of_column) {
                *set = self.calculator.intersect(*set, *other)?;
            }
        }
        let numbers = Vector::integers(self.sets.iter().map(|set| set.value()).collect());
        let set_column = batch.column_count();
        batch.push(Arc::new(numbers));
        let kept: Vec<Option<usize>> = (0..self.kept_count).chain([set_column]).map(Some).collect();
        batch.project(&kept);
        self.rows.consume(batch)
    }
}

/// The conditions on a column, in one worker.
#[derive(Clone)]
struct Condition {
    column: usize,
    index: Arc<PredicateIndex>,
    /// The set of each class.
    numbers: Arc<[SetNumber]>,
    /// The set of each string of the last dictionary.
    of_dictionary: Option<(Arc<ByteStrings>, Vec<SetNumber>)>,
}

impl Condition {
    fn new(column: usize, index: Arc<PredicateIndex>, store: &SetStore) -> Result<Self, ExecError> {
        let numbers = index.sets().bitmaps().map(|queries| store.number_of(queries)).collect::<Result<_, _>>()?;
        Ok(Self { column, index, numbers, of_dictionary: None })
    }

    /// Replaces `sets` by those of the values.
    fn sets_of(&mut self, vector: &Vector, sets: &mut Vec<SetNumber>) {
        let Self { index, numbers, of_dictionary, .. } = self;
        let of_value = |value: Option<Scalar>| {
            let class = value.map_or(index.class_of_null(), |value| index.class_of(&value));
            numbers[class.index()]
        };
        sets.clear();
        match vector.values() {
            Values::Int(values) if vector.valid().is_none() => {
                let mut classes = Vec::with_capacity(values.len());
                index.classes_of_integers(values, &mut classes);
                sets.extend(classes.into_iter().map(|class| numbers[class.index()]));
            }
            Values::Coded(coded) if vector.valid().is_none() => {
                let is_known = matches!(of_dictionary, Some((known, _)) if Arc::ptr_eq(known, &coded.dictionary));
                if !is_known {
                    let strings = (0..coded.dictionary.len()).map(|at| coded.dictionary.get(at).to_vec());
                    let by_code = strings.map(|string| of_value(Some(Scalar::Bytes(string)))).collect();
                    *of_dictionary = Some((coded.dictionary.clone(), by_code));
                }
                let (_, by_code) = of_dictionary.as_ref().expect("it was filled if it was not");
                sets.extend(coded.codes.iter().map(|code| by_code[*code as usize]));
            }
            _ => sets.extend((0..vector.len()).map(|row| of_value(vector.value(row)))),
        }
    }
}
