//! No text makes the binder, or a function that an expression calls, panic.
//!
//! The same function runs on mutated expressions in the ordinary tests.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| braid_sql::testing::fuzz_expression(data));
