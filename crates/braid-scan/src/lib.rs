//! Cooperative scans: chunks in any order, late decoding, predicates on encoded data.
