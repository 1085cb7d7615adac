//! Cases of random tests. A case is a number, the seed of all that is random in it.
//!
//! A test has a range of seeds of its own, so that it runs the same cases every day. Where the cases of a range take minutes, it has
//! two: a part of the range, which every commit runs, and the whole, which `.ci/nightly` runs with `BRAID_TEST_NIGHTLY=1`.
//! `BRAID_TEST_SEED=17` runs case 17 alone, `BRAID_TEST_SEED=0..100000` looks further. A case that fails prints the line that runs
//! it again:
//!
//! ```text
//! replay: BRAID_TEST_SEED=17 cargo test -p braid-exec sort::tests::sorted -- --exact --include-ignored
//! ```

use std::ops::Range;

use braid_base::SeededRandom;

/// The variable with the seed, or the range of seeds, that random tests run instead of their own.
pub const SEED_VARIABLE: &str = "BRAID_TEST_SEED";

/// The variable that makes tests run the whole of a range of which every commit runs a part.
pub const NIGHTLY_VARIABLE: &str = "BRAID_TEST_NIGHTLY";

/// What `cargo test` calls a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestName {
    package: &'static str,
    path: String,
}

impl TestName {
    /// The name of the test in which a function of type name `inner` is written. [`cases!`](crate::cases!) makes such
    /// functions.
    pub fn of(package: &'static str, inner: &'static str) -> Self {
        let mut parts: Vec<&str> = inner.split("::").filter(|part| *part != "{{closure}}").collect();
        parts.pop();
        Self { package, path: parts.get(1..).unwrap_or_default().join("::") }
    }

    fn replay_line(&self, seed: u64) -> String {
        let Self { package, path } = self;
        format!("{SEED_VARIABLE}={seed} cargo test -p {package} {path} -- --exact --include-ignored")
    }
}

/// One case. It prints its replay line if it is dropped by a panic, so it has to live as long as the case runs.
#[derive(Debug)]
pub struct Case {
    /// The seed of all that is random in this case.
    pub seed: u64,
    test: TestName,
}

impl Case {
    /// A generator that this case determines.
    pub fn random(&self) -> SeededRandom {
        SeededRandom::new(self.seed)
    }
}

impl Drop for Case {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("replay: {}", self.test.replay_line(self.seed));
        }
    }
}

/// The cases of a test, in order.
#[derive(Clone, Debug)]
pub struct Cases {
    seeds: Range<u64>,
    test: TestName,
    is_replay: bool,
}

impl Cases {
    /// The cases of `own` seeds, unless [`SEED_VARIABLE`] says which. Panics if it says nothing that can be read.
    pub fn new(own: Range<u64>, test: TestName) -> Self {
        let chosen = std::env::var(SEED_VARIABLE).ok().map(|text| {
            seeds(&text).unwrap_or_else(|| panic!("{SEED_VARIABLE} is {text:?}, not a seed (17) or a range (0..1000)"))
        });
        Self { is_replay: chosen.is_some(), seeds: chosen.unwrap_or(own), test }
    }

    /// As [`Cases::new`], of the seeds before `quick_end`, or before `nightly_end` if [`NIGHTLY_VARIABLE`] is set.
    pub fn quick_or_nightly(quick_end: u64, nightly_end: u64, test: TestName) -> Self {
        assert!(quick_end < nightly_end, "every commit runs a part: {quick_end} of {nightly_end}");
        let is_nightly = std::env::var(NIGHTLY_VARIABLE).is_ok_and(|value| value == "1");
        Self::new(0..if is_nightly { nightly_end } else { quick_end }, test)
    }

    /// Whether [`SEED_VARIABLE`] chose the cases: what holds of all of a test's own cases together need not hold of these.
    pub fn is_replay(&self) -> bool {
        self.is_replay
    }

    /// How often to run each case of a test whose threads take other turns in each run: a single case that is replayed 50
    /// times, others once.
    pub fn repeats(&self) -> usize {
        if self.is_replay && self.seeds.end - self.seeds.start == 1 { 50 } else { 1 }
    }
}

impl Iterator for Cases {
    type Item = Case;

    fn next(&mut self) -> Option<Case> {
        self.seeds.next().map(|seed| Case { seed, test: self.test.clone() })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.seeds.size_hint()
    }
}

fn seeds(text: &str) -> Option<Range<u64>> {
    match text.split_once("..") {
        Some((first, end)) => {
            Some(first.trim().parse().ok()?..end.trim().parse().ok()?).filter(|range| !range.is_empty())
        }
        None => text.trim().parse().ok().map(|seed: u64| seed..seed.saturating_add(1)),
    }
}

/// The cases of the test in which this is written, for a range of seeds: `for case in cases!(0..500) { … }`. With
/// `cases!(500, nightly 6_000)` every commit runs the first 500 of 6000.
#[macro_export]
macro_rules! cases {
    ($quick_end:literal, nightly $nightly_end:literal) => {{
        fn inner() {}
        let test = $crate::TestName::of(env!("CARGO_PKG_NAME"), std::any::type_name_of_val(&inner));
        $crate::Cases::quick_or_nightly($quick_end, $nightly_end, test)
    }};
    ($seeds:expr) => {{
        fn inner() {}
        let test = $crate::TestName::of(env!("CARGO_PKG_NAME"), std::any::type_name_of_val(&inner));
        $crate::Cases::new($seeds, test)
    }};
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;

    use super::*;

    #[test]
    fn every_commit_runs_a_part_of_the_night_s_cases() {
        let count = cases!(5, nightly 50).count();
        let is_nightly = std::env::var(NIGHTLY_VARIABLE).is_ok_and(|value| value == "1");
        let is_chosen = std::env::var(SEED_VARIABLE).is_ok();
        assert!(is_chosen || count == if is_nightly { 50 } else { 5 }, "{count}");
    }

    #[test]
    fn a_test_is_called_as_cargo_calls_it() {
        let test = TestName::of("braid-x", "braid_x::sort::tests::sorted::{{closure}}::inner");
        assert_eq!(
            test.replay_line(17),
            "BRAID_TEST_SEED=17 cargo test -p braid-x sort::tests::sorted -- --exact --include-ignored"
        );
        let here = || cases!(0..1).test;
        assert_eq!(here().path, "seeded_cases::tests::a_test_is_called_as_cargo_calls_it");
        assert_eq!(here().package, "braid-testing");
    }

    #[test]
    fn a_variable_is_a_seed_or_a_range() {
        assert_eq!(seeds("17"), Some(17..18));
        assert_eq!(seeds("5..100"), Some(5..100));
        for wrong in ["", "x", "5..", "5..5", "-1"] {
            assert_eq!(seeds(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn cases_are_those_of_the_range_and_differ() {
        use braid_base::Random;

        let cases = Cases { seeds: 3..6, test: TestName::of("p", "t::f"), is_replay: false };
        let firsts: Vec<u64> = cases.clone().map(|case| case.random().next_u64()).collect();
        assert_eq!(firsts.len(), 3);
        assert!(firsts[0] != firsts[1] && firsts[1] != firsts[2]);
        assert!(catch_unwind(|| seeds("99999999999999999999")).unwrap().is_none());
    }
}
