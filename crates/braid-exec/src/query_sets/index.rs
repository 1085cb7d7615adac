//! Predicate indexes: the predicates of many queries on one column, looked up by value.
//!
//! | module | contents |
//! |---|---|
//! | [`predicate_index`], [`class_sets`] | comparisons with constants: from a value to its class, from a class to its queries |
//! | [`indexed_predicates`] | the same, from a value to the number of its set |
//! | [`like_index`] | LIKE patterns, searched for together |

pub mod class_sets;
pub mod indexed_predicates;
pub mod like_index;
pub mod predicate_index;
