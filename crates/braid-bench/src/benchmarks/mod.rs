//! The benchmarks, one file each, named as on the command line.

pub mod cold_scan;
pub mod differential;
pub mod footprint;
pub mod join_order;
pub mod load;
pub mod one_pass;
pub mod query_sets;
pub mod scan_sharing;
pub mod spilling;
pub mod tpch_check;
pub mod tpch_memory;
pub mod tpch_mix;
pub mod tpch_power;
