//! The wall to DataFusion: table providers, scan operators, planning.
