//! What the tests of all crates share. Only tests import this crate.
//!
//! | module | what lives there |
//! |---|---|
//! | [`seeded_cases`] | cases of random tests, each from a seed; `BRAID_TEST_SEED`; the line that replays a failure |
//! | [`seeded_properties`] | the same for tests written with proptest |
//! | [`requirement`] | what a test needs of its machine; `BRAID_TESTS_REQUIRE` makes a skipped test a failure |
//! | [`patience`] | how long a test waits for what must happen, and that it says what |
//! | [`mutation`] | damaged bytes for everything that decodes |

pub mod mutation;
pub mod patience;
pub mod requirement;
pub mod seeded_cases;
pub mod seeded_properties;

pub use patience::{PATIENCE, PAUSE, Wait, eventually, in_time};
#[doc(hidden)]
pub use proptest;
pub use requirement::{Requirement, skip};
pub use seeded_cases::{Case, Cases, NIGHTLY_VARIABLE, SEED_VARIABLE, TestName};
