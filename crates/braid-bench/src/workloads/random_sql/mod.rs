//! Random tables and random queries on them: what `braid bench differential` asks two engines.
//!
//! | module | what lives there |
//! |---|---|
//! | [`draw`] | choices by one seeded generator |
//! | [`schema`] | random tables with their rows |
//! | [`query`] | a query as a tree, and its text |
//! | [`expressions`] | random expressions of a wanted kind, and conditions without subqueries |
//! | [`generator`] | random queries |
//! | [`aggregates`] | GROUP BY, its functions and HAVING |
//! | [`subqueries`] | conditions and values that are queries themselves |
//! | [`shrink`] | smaller forms of a query, and of its tables' rows |
//!
//! Everything here is a pure function of the seed. Queries contain only what Braid (which follows PostgreSQL) and DuckDB
//! define alike: no quotients of integers, no blanks at the end of texts, no negative zeros, no NaN, and a limit only over
//! an order of all columns. Averages and sums of quotients are compared with a tolerance, so they appear in no condition,
//! key or order.

pub mod aggregates;
pub mod draw;
pub mod expressions;
pub mod generator;
pub mod query;
pub mod schema;
pub mod shrink;
pub mod subqueries;
