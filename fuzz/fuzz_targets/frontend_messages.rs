//! No bytes from a client make the reader of messages panic, or read other messages when they come in pieces.
//!
//! The same function runs on mutated seeds in the ordinary tests.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| braid_server::testing::fuzz_frontend_messages(data));
