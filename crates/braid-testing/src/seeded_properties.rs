//! Tests written with proptest, each of their cases from a seed as in [`seeded_cases`](crate::seeded_cases).
//!
//! A failing case is made smaller by proptest as ever; the line that replays it is printed beside its smallest form.
//!
//! ```ignore
//! properties! {
//!     400 cases;
//!     #[test]
//!     fn sums_commute(a in 0..9, b in 0..9) {
//!         prop_assert_eq!(a + b, b + a);
//!     }
//! }
//! ```

use proptest::test_runner::{Config, RngSeed};

use crate::Case;

/// How proptest runs one case.
pub fn config(case: &Case) -> Config {
    Config { cases: 1, rng_seed: RngSeed::Fixed(case.seed), failure_persistence: None, ..Config::default() }
}

/// Tests in the form that `proptest!` has, with their number of cases.
#[macro_export]
macro_rules! properties {
    ($cases:literal cases; $($(#[$attribute:meta])* fn $name:ident($($arguments:tt)*) $body:block)*) => {
        $(
            $(#[$attribute])*
            fn $name() {
                for case in $crate::cases!(0..$cases) {
                    $crate::proptest::proptest!($crate::seeded_properties::config(&case), |($($arguments)*)| $body);
                }
            }
        )*
    };
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    thread_local! {
        static SEEN: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
    }

    crate::properties! {
        50 cases;

        fn collect(number in any::<u64>(), other in 0..10_u64) {
            prop_assume!(other != 3);
            SEEN.with_borrow_mut(|seen| seen.push(number));
        }
    }

    #[test]
    fn cases_differ_and_are_the_same_in_each_run() {
        collect();
        let first = SEEN.take();
        assert_eq!(first.iter().collect::<BTreeSet<_>>().len(), 50);
        collect();
        assert_eq!(SEEN.take(), first);
    }
}
