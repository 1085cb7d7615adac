//! Random SQL that two engines are asked: what `braid bench differential` is made of.
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
//! | [`comparison`] | whether two answers are the same |
//! | [`engines`] | whoever answers: Braid, DataFusion's operators, DuckDB |
//! | [`hunt`] | cases in batches; what became of them; the smallest form of one that differs |
//!
//! Everything down to [`shrink`] is a pure function of the seed. Queries say only what Braid (which follows PostgreSQL) and
//! DuckDB mean the same by: no quotients of integers, no blanks at the end of texts, no negative zeros, no NaN, a limit
//! only over an order of all columns. Averages and sums of quotients are compared with a tolerance and are no part of any
//! condition, key or order.

pub mod aggregates;
pub mod comparison;
pub mod draw;
pub mod engines;
pub mod expressions;
pub mod generator;
pub mod hunt;
pub mod query;
pub mod schema;
pub mod shrink;
pub mod subqueries;
