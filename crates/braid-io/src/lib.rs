//! Asynchronous, aligned, direct disk I/O behind one trait, with gauges and a trace.
