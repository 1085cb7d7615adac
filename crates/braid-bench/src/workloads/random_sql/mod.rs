//! Random tables and random queries on them, for `braid bench differential`, which runs them on two engines.
//!
//! | module | contents |
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
//! Everything here is a pure function of the seed. Queries use only what Braid (which follows PostgreSQL) and DuckDB define
//! alike. There are no quotients of integers, trailing blanks, negative zeros or NaN. A limit needs an order of all columns.
//! Averages and sums of quotients are compared with a tolerance, so that conditions, keys and orders never use them.

pub mod aggregates;
pub mod draw;
pub mod expressions;
pub mod generator;
pub mod query;
pub mod schema;
pub mod shrink;
pub mod subqueries;
