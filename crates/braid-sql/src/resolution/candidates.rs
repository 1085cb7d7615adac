//! The best of several functions or operators that have the right name and number of arguments.
//!
//! The steps are those of the manual, sections "Operators" and "Functions" of "Type Conversion": exact matches, then preferred types,
//! then the category of the unknown arguments, then the guess that unknown arguments have the type of the known ones.

use super::coercion::can_coerce;
use crate::pg_catalog::{CastContext, TypeCategory, TypeEntry, TypeId, pg_catalog};

/// What the candidates came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// No candidate accepts the arguments.
    NoMatch,
    /// This one, by its index.
    One(usize),
    /// Several are equally good.
    Ambiguous,
}

/// Chooses among candidates by the types of the given arguments. Each candidate has a type for each of them.
pub fn choose(given: &[TypeId], candidates: &[&[TypeId]]) -> Choice {
    let accepts = |index: &usize| can_coerce(given, candidates[*index], CastContext::Implicit);
    let matching: Vec<usize> = (0..candidates.len()).filter(accepts).collect();
    match matching.as_slice() {
        [] => Choice::NoMatch,
        [only] => Choice::One(*only),
        _ => Selection { given, candidates, left: matching }.run().map_or(Choice::Ambiguous, Choice::One),
    }
}

/// The candidates that are left while the rules are applied.
struct Selection<'a> {
    given: &'a [TypeId],
    candidates: &'a [&'a [TypeId]],
    left: Vec<usize>,
}

impl Selection<'_> {
    fn run(mut self) -> Option<usize> {
        let is_exact = |given: TypeId, wanted: TypeId| given == wanted;
        let is_exact_or_preferred = |given: TypeId, wanted: TypeId| {
            let wanted_entry = entry(wanted);
            given == wanted || (wanted_entry.is_preferred && wanted_entry.category == entry(given).category)
        };
        self.keep_most(is_exact);
        if self.left.len() > 1 {
            self.keep_most(is_exact_or_preferred);
        }
        if self.left.len() > 1 {
            if !self.given.contains(&TypeId::UNKNOWN) {
                return None;
            }
            self.keep_category_of_unknowns();
        }
        match self.left.as_slice() {
            [only] => Some(*only),
            _ => self.guess_from_known(),
        }
    }

    /// Keeps the candidates with the most arguments of known type that match.
    fn keep_most(&mut self, matches: impl Fn(TypeId, TypeId) -> bool) {
        let count = |index: usize| {
            let pairs = self.given.iter().zip(self.candidates[index]);
            pairs.filter(|(given, wanted)| **given != TypeId::UNKNOWN && matches(**given, **wanted)).count()
        };
        let counts: Vec<usize> = self.left.iter().map(|index| count(*index)).collect();
        let best = counts.iter().copied().max().unwrap_or_default();
        let mut counts = counts.into_iter();
        self.left.retain(|_| counts.next() == Some(best));
    }

    /// Chooses a category for each unknown argument, and keeps the candidates that accept it, if any does.
    fn keep_category_of_unknowns(&mut self) {
        let unknowns = (0..self.given.len()).filter(|slot| self.given[*slot] == TypeId::UNKNOWN);
        let slots: Option<Vec<_>> = unknowns.map(|slot| Some((slot, self.category_of(slot)?))).collect();
        let Some(slots) = slots else { return };
        let fits = |index: &usize| {
            slots.iter().all(|(slot, (category, has_preferred))| {
                let wanted = entry(self.candidates[*index][*slot]);
                wanted.category == *category && (wanted.is_preferred || !has_preferred)
            })
        };
        let kept: Vec<usize> = self.left.iter().copied().filter(fits).collect();
        if !kept.is_empty() {
            self.left = kept;
        }
    }

    /// The category of an unknown argument, and whether a candidate has a preferred type of it: strings if any candidate has one,
    /// else the category that all have. `None` if they differ.
    fn category_of(&self, slot: usize) -> Option<(TypeCategory, bool)> {
        let wanted = || self.left.iter().map(|index| entry(self.candidates[*index][slot]));
        let any_string = wanted().any(|entry| entry.category == TypeCategory::STRING);
        let category = if any_string { TypeCategory::STRING } else { wanted().next()?.category };
        let is_decided = any_string || wanted().all(|entry| entry.category == category);
        is_decided.then(|| (category, wanted().any(|entry| entry.category == category && entry.is_preferred)))
    }

    /// If all known arguments have one type: the only candidate that accepts it for all arguments.
    fn guess_from_known(&self) -> Option<usize> {
        let mut known = self.given.iter().filter(|id| **id != TypeId::UNKNOWN);
        let guess = *known.next()?;
        if known.any(|id| *id != guess) {
            return None;
        }
        let assumed = vec![guess; self.given.len()];
        let accepts = |index: &&usize| can_coerce(&assumed, self.candidates[**index], CastContext::Implicit);
        let mut accepting = self.left.iter().filter(accepts);
        accepting.next().filter(|_| accepting.next().is_none()).copied()
    }
}

fn entry(id: TypeId) -> &'static TypeEntry {
    pg_catalog().type_entry(id)
}
