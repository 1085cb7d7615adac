//! A disk that fails on command, for the tests of this crate and of those above.
//!
//! | module | what lives there |
//! |---|---|
//! | [`fault_device`] | [`FaultDevice`]: any device, failing, slow, damaged, or without power |
//! | `fault_plan` | which operation fails, and how |
//! | `volatile_cache` | what a power cut makes of writes, names and removals that no sync has covered |
//!
//! Built only for tests (the feature `testing`); the server has no such code.

pub mod fault_device;
mod fault_plan;
mod volatile_cache;

pub use fault_device::FaultDevice;
pub use fault_plan::{Fault, OperationCounts, ReadLatency};
