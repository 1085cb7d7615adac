//! Refinement of overlapping query sets into disjoint sets, so that no query has two groups of one key.
//!
//! The rows of a key have several sets. The states of a set belong to each of its queries, so that a query's result combines
//! all sets that contain it. Queries in the same sets have the same result; they form an *atom*. The atoms are the coarsest
//! partition of the queries such that every set is a union of atoms (partition refinement: Paige, Tarjan, SIAM J. Comput.
//! 16(6), 1987). The algorithm splits by one set after the other, with one step for each query of each set.
//!
//! Many keys have the same sets, so that refinements are cached for all partitions.

use std::fmt;
use std::sync::Arc;

use parking_lot::RwLock;

use crate::keys::number_map::NumbersMap;
use crate::query_sets::query_bitmap::words_for;
use crate::{ExecError, MemoryBudget, Reservation, SetNumber, SetStore};

/// Maximum number of sets that are split word by word, with one step for each set and atom.
const ONE_WORD_SETS_MAX: usize = 16;

/// The entry for a missing class or set.
const NONE: u32 = u32::MAX;

/// The initial class of all queries.
const OUTSIDE: u32 = 0;

/// The atoms of several sets.
#[derive(Debug)]
pub(crate) struct Refinement {
    /// The sets, ascending.
    sets: Box<[SetNumber]>,
    /// The atoms: disjoint non-empty sets.
    atoms: Vec<SetNumber>,
    /// The atoms of all sets, set by set, and the end of each set's atoms.
    parts: Vec<u32>,
    ends: Vec<u32>,
}

impl Refinement {
    /// Splits distinct, ascending sets into atoms.
    ///
    /// # Errors
    /// When memory for the atoms is refused.
    fn of_sets(store: &SetStore, sets: &[SetNumber]) -> Result<Self, ExecError> {
        if store.query_count() <= 64 && sets.len() <= ONE_WORD_SETS_MAX {
            return Self::of_one_word(store, sets);
        }
        let queries: Vec<Vec<usize>> =
            sets.iter().map(|set| store.queries(*set).into_iter().map(|query| query.index()).collect()).collect();
        let (atom_of_query, atom_count) = atoms_of_queries(&queries, store.query_count());
        let mut words = vec![vec![0; words_for(store.query_count())]; atom_count];
        let atoms = atom_of_query.iter().enumerate().filter(|(_, atom)| **atom != NONE);
        atoms.for_each(|(query, atom)| words[*atom as usize][query / 64] |= 1 << (query % 64));
        let atoms: Result<Vec<SetNumber>, ExecError> = words.iter().map(|words| store.intern(words)).collect();
        let (mut parts, mut ends) = (Vec::new(), Vec::new());
        let mut last_set_with = vec![NONE; atom_count];
        for (set, queries) in (0..).zip(&queries) {
            for atom in queries.iter().map(|query| atom_of_query[*query]) {
                if std::mem::replace(&mut last_set_with[atom as usize], set) != set {
                    parts.push(atom);
                }
            }
            ends.push(parts.len() as u32);
        }
        Ok(Self { sets: sets.into(), atoms: atoms?, parts, ends })
    }

    /// As [`Self::of_sets`], for few queries and sets: each set is one word, and splits all atoms.
    fn of_one_word(store: &SetStore, sets: &[SetNumber]) -> Result<Self, ExecError> {
        let words: Vec<u64> = sets.iter().map(|set| store.words(*set)[0]).collect();
        let mut atoms: Vec<u64> = Vec::new();
        for set in &words {
            let mut new = *set;
            for at in 0..atoms.len() {
                let (inside, outside) = (atoms[at] & set, atoms[at] & !set);
                new &= !inside;
                if inside != 0 && outside != 0 {
                    atoms[at] = inside;
                    atoms.push(outside);
                }
            }
            if new != 0 {
                atoms.push(new);
            }
        }
        // Small sets come first, because removing them from a larger set one by one gives sets that exist already.
        atoms.sort_unstable_by_key(|atom| atom.count_ones());
        let (mut parts, mut ends) = (Vec::new(), Vec::new());
        for set in &words {
            parts.extend((0u32..).zip(&atoms).filter(|(_, atom)| **atom & set != 0).map(|(at, _)| at));
            ends.push(parts.len() as u32);
        }
        let atoms = atoms.into_iter().map(|atom| store.intern(&[atom])).collect::<Result<_, _>>()?;
        Ok(Self { sets: sets.into(), atoms, parts, ends })
    }

    /// The atoms.
    pub(crate) fn atoms(&self) -> &[SetNumber] {
        &self.atoms
    }

    /// Positions of the atoms of one of the sets. Panics for any other set.
    pub(crate) fn atoms_of(&self, set: SetNumber) -> &[u32] {
        let at = self.sets.binary_search(&set).expect("a key's sets were all refined");
        let begin = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.parts[begin as usize..self.ends[at] as usize]
    }

    /// Bytes held, including the entry of the cache.
    fn bytes(&self) -> usize {
        let numbers = self.sets.len() * 3 + self.atoms.len() + self.parts.len();
        numbers * 4 + size_of::<Self>() + 2 * size_of::<(Box<[SetNumber]>, Arc<Self>)>()
    }
}

/// The atom of each query, `NONE` for a query in no set, and the number of atoms.
fn atoms_of_queries(sets: &[Vec<usize>], query_count: usize) -> (Vec<u32>, usize) {
    let mut classes = vec![OUTSIDE; query_count];
    // For each class, the last set that has split it, and the class of the part that was split off.
    let mut cuts = vec![(NONE, NONE)];
    for (set, queries) in (0..).zip(sets) {
        for query in queries {
            let class = &mut classes[*query];
            if cuts[*class as usize].0 != set {
                cuts[*class as usize] = (set, cuts.len() as u32);
                cuts.push((NONE, NONE));
            }
            *class = cuts[*class as usize].1;
        }
    }
    // Some classes are empty.
    let (mut atoms, mut atom_count) = (vec![NONE; cuts.len()], 0);
    for class in classes.iter().filter(|class| **class != OUTSIDE) {
        let atom = &mut atoms[*class as usize];
        if *atom == NONE {
            *atom = atom_count;
            atom_count += 1;
        }
    }
    (classes.iter().map(|class| atoms[*class as usize]).collect(), atom_count as usize)
}

/// The cache of refinements. The lock guards it; threads access it once for each list of sets.
pub(crate) struct Refinements {
    store: Arc<SetStore>,
    budget: Arc<dyn MemoryBudget>,
    known: RwLock<Known>,
}

struct Known {
    by_sets: NumbersMap<Box<[SetNumber]>, Arc<Refinement>>,
    reservation: Reservation,
}

impl fmt::Debug for Refinements {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Refinements").field("store", &self.store).finish_non_exhaustive()
    }
}

impl Refinements {
    /// An empty cache of an operator, which errors name.
    pub(crate) fn new(store: Arc<SetStore>, budget: Arc<dyn MemoryBudget>, operator: &'static str) -> Self {
        let reservation = Reservation::new(budget.clone(), operator);
        let known = RwLock::new(Known { by_sets: NumbersMap::default(), reservation });
        Self { store, budget, known }
    }

    /// The memory budget.
    pub(crate) fn budget(&self) -> &Arc<dyn MemoryBudget> {
        &self.budget
    }

    /// The refinement of distinct, ascending sets.
    ///
    /// # Errors
    /// When memory is refused.
    pub(crate) fn of_sets(&self, sets: &[SetNumber]) -> Result<Arc<Refinement>, ExecError> {
        if let Some(known) = self.known.read().by_sets.get(sets) {
            return Ok(known.clone());
        }
        // Another thread may compute the same refinement meanwhile. The first one is kept.
        let refinement = Arc::new(Refinement::of_sets(&self.store, sets)?);
        let mut known = self.known.write();
        let held = known.reservation.held();
        known.reservation.resize(held + refinement.bytes())?;
        Ok(known.by_sets.entry(sets.into()).or_insert(refinement).clone())
    }
}

#[cfg(test)]
mod tests {
    use braid_base::{ByteSize, Random};
    use braid_testing::cases;

    use super::*;
    use crate::{FixedBudget, QueryBitmap, QueryNumber};

    /// Two queries are in one atom exactly if they are in the same sets.
    #[test]
    fn atoms_are_the_queries_of_the_same_sets() {
        for case in cases!(0..500) {
            let mut random = case.random();
            let query_count = 1 + random.below(150) as usize;
            let store = SetStore::new(query_count, FixedBudget::new(ByteSize(1 << 24))).unwrap();
            let mut sets: Vec<SetNumber> = Vec::new();
            for _ in 0..random.below(8) {
                let share = random.below(5);
                let words: Vec<bool> = (0..query_count).map(|_| random.chance(share, 4)).collect();
                sets.push(store.number_of(&QueryBitmap::from_fn(query_count, |query| words[query.index()])).unwrap());
            }
            sets.sort_unstable();
            sets.dedup();
            let refinement = Refinement::of_sets(&store, &sets).unwrap();
            let signature = |query: QueryNumber| -> Vec<bool> {
                sets.iter().map(|set| store.queries(*set).contains(&query)).collect()
            };
            let mut met = Vec::new();
            let mut signatures = Vec::new();
            for atom in refinement.atoms() {
                let queries = store.queries(*atom);
                let of_atom = signature(queries[0]);
                assert!(queries.iter().all(|query| signature(*query) == of_atom));
                signatures.push(of_atom);
                met.extend(queries);
            }
            let all: std::collections::BTreeSet<_> = sets.iter().flat_map(|set| store.queries(*set)).collect();
            met.sort_unstable();
            assert!(met.into_iter().eq(all), "the atoms are not a partition of the sets' queries");
            assert!(signatures.iter().collect::<std::collections::BTreeSet<_>>().len() == signatures.len());
            for (at, set) in sets.iter().enumerate() {
                let atoms: Vec<u32> = (0..).zip(&signatures).filter(|(_, of)| of[at]).map(|(atom, _)| atom).collect();
                let mut found = refinement.atoms_of(*set).to_vec();
                found.sort_unstable();
                assert_eq!(found, atoms);
            }
        }
    }
}
