//! Sets of characters, as bracket expressions name them.

use crate::functions::strings::characters::{Ranges, class, to_lower, to_upper};

/// The last code of a character.
const CODE_MAX: u32 = 0x10_FFFF;

/// A set of characters: ranges in any order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CharacterSet {
    ranges: Ranges,
}

impl CharacterSet {
    pub(super) fn all() -> Self {
        Self { ranges: vec![(0, CODE_MAX)] }
    }

    /// A character; without regard to case, its small and its capital letter, as PostgreSQL matches it.
    pub(super) fn of(c: char, ignores_case: bool) -> Self {
        let mut set = Self::default();
        let (lower, upper) = (to_lower(c), to_upper(c));
        if ignores_case && lower != upper {
            set.add(lower, lower);
            set.add(upper, upper);
        } else {
            set.add(c, c);
        }
        set
    }

    /// A class by its name, such as `alpha`. Without regard to case, all letters are both small and capital.
    pub(super) fn of_class(name: &str, ignores_case: bool) -> Option<Self> {
        let ranges = match name {
            "lower" | "upper" if ignores_case => class("alpha")?.clone(),
            "ascii" => vec![(0, 0x7F)],
            "word" => {
                let mut ranges = class("alnum")?.clone();
                ranges.push((u32::from('_'), u32::from('_')));
                ranges
            }
            name => class(name)?.clone(),
        };
        Some(Self { ranges })
    }

    pub(super) fn add(&mut self, first: char, last: char) {
        self.ranges.push((first.into(), last.into()));
    }

    /// A range; without regard to case, with the other case of each of its characters.
    pub(super) fn add_range(&mut self, first: char, last: char, ignores_case: bool) {
        self.add(first, last);
        if ignores_case {
            for c in first..=last {
                for other in [to_lower(c), to_upper(c)] {
                    if !(first..=last).contains(&other) {
                        self.add(other, other);
                    }
                }
            }
        }
    }

    pub(super) fn add_all(&mut self, other: &Self) {
        self.ranges.extend_from_slice(&other.ranges);
    }

    /// All other characters.
    pub(super) fn complement(&self) -> Self {
        let mut sorted = self.ranges.clone();
        sorted.sort_unstable();
        let mut ranges = Ranges::new();
        let mut next = 0;
        for (first, last) in sorted {
            if first > next {
                ranges.push((next, first - 1));
            }
            next = next.max(last.saturating_add(1));
        }
        if next <= CODE_MAX {
            ranges.push((next, CODE_MAX));
        }
        Self { ranges }
    }

    pub(super) fn without(&self, c: char) -> Self {
        let mut others = self.complement();
        others.add(c, c);
        others.complement()
    }

    /// Ranges of characters: those that are not, surrogates, are left out.
    pub(super) fn characters(&self) -> impl Iterator<Item = (char, char)> + '_ {
        let is_valid = |code: u32| char::from_u32(code).is_some();
        self.ranges
            .iter()
            .filter_map(move |&(first, last)| {
                let first = if is_valid(first) { first } else { 0xE000 };
                let last = if is_valid(last) { last } else { 0xD7FF };
                (first <= last).then(|| (char::from_u32(first), char::from_u32(last)))
            })
            .filter_map(|(first, last)| Some((first?, last?)))
    }

    pub(super) fn contains(&self, c: char) -> bool {
        self.ranges.iter().any(|&(first, last)| (first..=last).contains(&u32::from(c)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complements_leave_nothing_out() {
        let mut set = CharacterSet::of('b', false);
        set.add_range('x', 'z', true);
        let complement = set.complement();
        for c in ['\0', 'a', 'b', 'c', 'x', 'X', 'Z', 'é', '\u{10FFFF}'] {
            assert_ne!(set.contains(c), complement.contains(c), "{c:?}");
        }
        assert_eq!(complement.complement().complement(), complement);
        assert!(!CharacterSet::all().without('\n').contains('\n'));
        assert!(CharacterSet::all().complement().characters().next().is_none());
    }
}
