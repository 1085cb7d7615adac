//! Workloads, drivers and the benchmarks that print the papers' figures.
