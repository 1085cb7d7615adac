//! No bytes make the reader of COPY text and CSV panic, or read other records when they come in pieces.
//!
//! The same function runs on mutated seeds in the ordinary tests.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| braid_engine::testing::fuzz_copy_text(data));
