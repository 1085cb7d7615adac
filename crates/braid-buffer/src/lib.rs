//! The Active Buffer Manager: which segment to read, keep and evict, for all scans at once.
