//! Sets of integers, and their search in vectors.
//!
//! Few members are compared with each code, a register of codes at a time. More of them are looked up: a value's slot in a table of
//! bytes says whether it may be a member, without a branch. Where the members lie close together, each value has a slot of its own;
//! otherwise slots are hashed, and what they say is verified.

use braid_base::VECTOR_ROWS;
use wide::{i8x32, i16x16, i32x8, i64x4};

use super::bit_packing::Lane;
use super::flags::{filter_flags, filter_words, flag};
use crate::Selection;

/// Most slots of a table: 64 KiB, which a chunk's vectors find in the second cache, and which is cleared in 2 microseconds.
const SLOTS_MAX: u64 = 1 << 16;

/// Slots for each member of a hashed table, so that about one value in so many is verified in vain.
const SLOTS_PER_MEMBER: usize = 64;

/// A set of at least two integers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct IntegerSet {
    /// Ascending, without duplicates.
    values: Vec<i64>,
    slots: Slots,
    /// A flag for each slot ([`flag`]): whether a member has it.
    taken: Vec<i8>,
}

/// Where values have their slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slots {
    /// The smallest member has the first one; the last one is that of all values outside the members' range.
    Direct,
    /// By a hash of so many bits.
    Hashed {
        /// 64 less the bits.
        shift: u32,
    },
}

impl IntegerSet {
    /// The set of at least two values, ascending and without duplicates.
    pub(crate) fn new(values: Vec<i64>) -> Self {
        let (first, last) = (values[0], values[values.len() - 1]);
        // One more slot than values, for those outside.
        let direct = (last.wrapping_sub(first) as u64).saturating_add(2);
        let (slots, count) = if direct <= SLOTS_MAX {
            (Slots::Direct, direct as usize)
        } else {
            let count = (values.len() * SLOTS_PER_MEMBER).next_power_of_two().min(SLOTS_MAX as usize);
            (Slots::Hashed { shift: u64::BITS - count.trailing_zeros() }, count)
        };
        let mut taken = vec![0; count];
        for &value in &values {
            let slot = match slots {
                Slots::Direct => value.wrapping_sub(first) as usize,
                Slots::Hashed { shift } => hash(value, shift),
            };
            taken[slot] = flag(true);
        }
        Self { values, slots, taken }
    }

    /// The members within `low..=high`.
    pub(crate) fn within(&self, low: i64, high: i64) -> &[i64] {
        let start = self.values.partition_point(|&v| v < low);
        let end = self.values.partition_point(|&v| v <= high);
        &self.values[start..end.max(start)]
    }

    /// Whether `value` is a member.
    pub(crate) fn contains(&self, value: i64) -> bool {
        self.values.binary_search(&value).is_ok()
    }

    /// Keeps the rows whose value is a member, or is none.
    pub(crate) fn filter<T: Copy>(
        &self,
        values: &[T; VECTOR_ROWS],
        integer: impl Fn(T) -> i64 + Copy,
        negated: bool,
        selection: &mut Selection,
    ) {
        let mut members = *selection;
        match self.slots {
            Slots::Direct => {
                let (first, outside) = (self.values[0], self.taken.len() - 1);
                self.look_up(values, &mut members, |value| {
                    (integer(value).wrapping_sub(first) as u64).min(outside as u64) as usize
                });
            }
            Slots::Hashed { shift } => {
                self.look_up(values, &mut members, |value| hash(integer(value), shift));
                members.retain(|row| self.contains(integer(values[row])));
            }
        }
        narrow(selection, &members, negated);
    }

    #[inline(always)]
    fn look_up<T: Copy>(&self, values: &[T; VECTOR_ROWS], rows: &mut Selection, slot: impl Fn(T) -> usize) {
        filter_flags(values, rows, |values, flags| {
            for (to, &value) in flags.iter_mut().zip(values) {
                *to = self.taken[slot(value)];
            }
        });
    }
}

/// A lane whose codes are compared with several members.
pub(crate) trait ComparedLane: Lane {
    /// Most members that are compared: measured, more of them take longer than the look-ups.
    const MEMBERS_MAX: usize;

    /// A bit for each code, set where the code is a member.
    fn members_among(codes: &[Self; 64], members: &[Self]) -> u64;
}

macro_rules! compared_lane {
    ($($lane:ty as $signed:ty, $codes:literal in $register:ident, up to $members:literal;)*) => {$(
        impl ComparedLane for $lane {
            const MEMBERS_MAX: usize = $members;

            #[inline(always)]
            fn members_among(codes: &[Self; 64], members: &[Self]) -> u64 {
                let (registers, _) = codes.as_chunks::<$codes>();
                registers.iter().rev().fold(0, |word, codes| {
                    let codes = $register::new(codes.map(|code| code as $signed));
                    let equal = |found, &member: &Self| found | codes.simd_eq($register::splat(member as $signed));
                    let found = members.iter().fold($register::ZERO, equal);
                    word << $codes | u64::from(found.to_bitmask() as u32)
                })
            }
        }
    )*};
}
compared_lane! {
    u8 as i8, 32 in i8x32, up to 32;
    u16 as i16, 16 in i16x16, up to 16;
    u32 as i32, 8 in i32x8, up to 12;
    u64 as i64, 4 in i64x4, up to 8;
}

/// Keeps the rows whose code is one of a few, or is none of them.
pub(crate) fn filter_compared<L: ComparedLane>(
    codes: &[L; VECTOR_ROWS],
    members: &[L],
    negated: bool,
    selection: &mut Selection,
) {
    let mut equal = *selection;
    filter_words(codes, &mut equal, |codes| L::members_among(codes, members));
    narrow(selection, &equal, negated);
}

/// Keeps those rows, or the others.
fn narrow(selection: &mut Selection, rows: &Selection, negated: bool) {
    if negated {
        selection.and_not_words(rows.words());
    } else {
        selection.and_words(rows.words());
    }
}

/// A slot by the golden ratio: the highest bits of a product (Knuth, volume 3, section 6.4).
#[inline(always)]
fn hash(value: i64, shift: u32) -> usize {
    ((value as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> shift) as usize
}

#[cfg(test)]
mod tests {
    use braid_base::{Random, SeededRandom};

    use super::*;

    /// Members within a span, and values in and around it.
    fn check(member_count: usize, first: i64, span: u64, random: &mut SeededRandom) {
        let mut members: Vec<i64> =
            (0..member_count).map(|_| first.wrapping_add(random.below(span) as i64)).chain([first]).collect();
        members.extend([first.wrapping_add(span as i64), first.wrapping_sub(1)]);
        members.sort_unstable();
        members.dedup();
        let set = IntegerSet::new(members.clone());
        let values: [i64; VECTOR_ROWS] = std::array::from_fn(|_| match random.below(4) {
            0 => members[random.below(members.len() as u64) as usize],
            1 => random.next_u64() as i64,
            _ => first.wrapping_sub(2).wrapping_add(random.below(span.saturating_add(4)) as i64),
        });
        for negated in [false, true] {
            let mut selection = Selection::all(1000);
            selection.retain(|row| row % 7 != 3);
            let wanted: Vec<usize> =
                selection.iter().filter(|&row| members.contains(&values[row]) != negated).collect();
            set.filter(&values, |value| value, negated, &mut selection);
            assert!(selection.iter().eq(wanted), "{member_count} of {first} + {span}");
        }
    }

    #[test]
    fn sets_of_any_span_find_their_members() {
        let mut random = SeededRandom::new(3);
        for span in [1, 60, 1000, SLOTS_MAX - 3, SLOTS_MAX - 2, SLOTS_MAX, 1 << 20, 1 << 40, u64::MAX >> 1] {
            for member_count in [1, 5, 40, 3000] {
                for first in [0, -70, i64::MIN + 1, i64::MAX - 100] {
                    check(member_count, first, span, &mut random);
                }
            }
        }
    }

    fn compare<L: ComparedLane + PartialEq>(random: &mut SeededRandom) {
        let mut code = |bound: u64| L::truncate(random.below(bound));
        let codes: [L; VECTOR_ROWS] = std::array::from_fn(|_| code(200));
        for count in 0..=L::MEMBERS_MAX {
            let members: Vec<L> = (0..count).map(|_| code(220)).collect();
            for negated in [false, true] {
                let mut selection = Selection::all(1000);
                selection.retain(|row| row % 5 != 1 && !(128..192).contains(&row));
                let wanted: Vec<usize> =
                    selection.iter().filter(|&row| members.contains(&codes[row]) != negated).collect();
                filter_compared(&codes, &members, negated, &mut selection);
                assert!(selection.iter().eq(wanted), "{count} members of {} bytes", size_of::<L>());
            }
        }
    }

    #[test]
    fn every_lane_finds_its_codes() {
        let mut random = SeededRandom::new(4);
        compare::<u8>(&mut random);
        compare::<u16>(&mut random);
        compare::<u32>(&mut random);
        compare::<u64>(&mut random);
    }
}
