//! Crash, differential and SQL logic tests over the whole engine.
