//! The predicates of many queries on one value, indexed, with the number of the set of each class.

use std::sync::Arc;

use braid_storage::{ColumnPredicate, Scalar};

use crate::values::vector::{CodedStrings, Values};
use crate::{ByteStrings, ExecError, PredicateIndex, QueryNumber, Reservation, RowClass, SetNumber, SetStore, Vector};

/// Maximum size of a dictionary that is looked up completely. A batch may use few strings of a larger one.
const DICTIONARY_STRINGS_MAX: usize = 4 * braid_base::VECTOR_ROWS;

/// Predicates, and the query sets of the values.
#[derive(Debug)]
pub struct IndexedPredicates {
    index: PredicateIndex,
    /// By class.
    sets: Vec<SetNumber>,
    store: Arc<SetStore>,
    _reservation: Reservation,
}

/// A worker's cache between batches: the sets of a dictionary's strings.
#[derive(Debug, Default)]
pub(crate) struct DictionarySets {
    dictionary: Option<Arc<ByteStrings>>,
    sets: Vec<SetNumber>,
}

impl IndexedPredicates {
    /// Indexes the predicates of a pass's queries: see [`PredicateIndex::new`]. Panics when a constant is an interval, or
    /// constants are of different types.
    ///
    /// # Errors
    /// When memory for the index or its sets is refused.
    pub fn new(predicates: &[(QueryNumber, ColumnPredicate)], store: &Arc<SetStore>) -> Result<Arc<Self>, ExecError> {
        let mut reservation = Reservation::new(store.budget().clone(), "predicate index");
        reservation.resize(PredicateIndex::bytes_max(store.query_count(), predicates))?;
        let index = PredicateIndex::new(store.query_count(), predicates).expect("no constant is an interval");
        let sets = index.sets().bitmaps().map(|queries| store.number_of(queries)).collect::<Result<_, _>>()?;
        Ok(Arc::new(Self { index, sets, store: store.clone(), _reservation: reservation }))
    }

    /// The sets of the pass.
    pub(crate) fn store(&self) -> &Arc<SetStore> {
        &self.store
    }

    /// The predicates.
    pub fn index(&self) -> &PredicateIndex {
        &self.index
    }

    /// The set of a class.
    #[inline]
    pub(crate) fn set_of(&self, class: RowClass) -> SetNumber {
        self.sets[class.index()]
    }

    /// A predicate that holds for every value with a non-empty set; `None` if there is no restriction.
    pub(crate) fn hull(&self) -> Option<ColumnPredicate> {
        self.index.hull()
    }

    /// The set of each row of a vector.
    pub(crate) fn sets_of(&self, vector: &Vector, remembered: &mut DictionarySets) -> Vec<SetNumber> {
        let null = self.set_of_value(None);
        if vector.valid().is_some_and(|valid| !valid.contains(&true)) {
            // The kind of a vector of nulls has no meaning.
            return vec![null; vector.len()];
        }
        let mut sets = match vector.values() {
            Values::Int(values) => {
                let mut classes = Vec::with_capacity(values.len());
                self.index.classes_of_integers(values, &mut classes);
                classes.into_iter().map(|class| self.set_of(class)).collect()
            }
            Values::Coded(coded) if coded.dictionary.len() <= DICTIONARY_STRINGS_MAX => {
                self.sets_of_codes(coded, remembered)
            }
            Values::Bytes(strings) => self.sets_of_strings((0..strings.len()).map(|row| strings.get(row))),
            Values::Coded(coded) => self.sets_of_strings((0..coded.codes.len()).map(|row| coded.get(row))),
            _ => (0..vector.len()).map(|row| self.set_of_value(vector.value(row).as_ref())).collect(),
        };
        if let Some(valid) = vector.valid() {
            sets.iter_mut().zip(valid).filter(|(_, valid)| !**valid).for_each(|(set, _)| *set = null);
        }
        sets
    }

    fn set_of_value(&self, value: Option<&Scalar>) -> SetNumber {
        self.set_of(value.map_or(self.index.class_of_null(), |value| self.index.class_of(value)))
    }

    fn sets_of_codes(&self, coded: &CodedStrings, remembered: &mut DictionarySets) -> Vec<SetNumber> {
        let is_same = remembered.dictionary.as_ref().is_some_and(|known| Arc::ptr_eq(known, &coded.dictionary));
        if !is_same {
            let strings = (0..coded.dictionary.len()).map(|at| coded.dictionary.get(at));
            remembered.sets = self.sets_of_strings(strings);
            remembered.dictionary = Some(coded.dictionary.clone());
        }
        coded.codes.iter().map(|code| remembered.sets[*code as usize]).collect()
    }

    fn sets_of_strings<'a>(&self, strings: impl Iterator<Item = &'a [u8]>) -> Vec<SetNumber> {
        let mut value = Scalar::Bytes(Vec::new());
        let of_string = |string: &[u8]| {
            if let Scalar::Bytes(bytes) = &mut value {
                bytes.clear();
                bytes.extend_from_slice(string);
            }
            self.set_of(self.index.class_of(&value))
        };
        strings.map(of_string).collect()
    }
}
