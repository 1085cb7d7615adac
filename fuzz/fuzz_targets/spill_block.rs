//! No block of a temporary file makes its reader panic, or ask for more memory than its rows took.
//!
//! The same function runs on mutated seeds in the ordinary tests.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| braid_exec::spill::fuzz_spill_block(data));
