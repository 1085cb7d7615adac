//! The tree of prepared operations that an evaluator walks.
//!
//! The tree caches patterns, sets, results for a dictionary and observed selectivities between batches. The caches never
//! change an answer.

use std::sync::Arc;

use braid_storage::Scalar;

use crate::Batch;
use crate::exec_error::ExecError;
use crate::expression::boolean_logic::{Junction, is_null, is_true, not};
use crate::expression::case::Case;
use crate::expression::foreign::ForeignCall;
use crate::expression::like_pattern::LikePattern;
use crate::expression::membership::ValueSet;
use crate::expression::operand::{Operand, booleans, nulls};
use crate::expression::string_predicate::{DictionaryCache, select_strings};
use crate::expression::substring::Substring;
use crate::expression::{Arithmetic, Comparison, DatePart, NumberRange, arithmetic, comparison, date_part};

/// A prepared operation.
#[derive(Debug)]
pub(super) enum Node {
    Column(usize),
    Constant(Option<Arc<Scalar>>),
    Arithmetic { operation: Arithmetic, range: NumberRange, left: Box<Node>, right: Box<Node> },
    ScaleUp { value: Box<Node>, digits: u8 },
    Compare { comparison: Comparison, left: Box<Node>, right: Box<Node>, cache: DictionaryCache<Vec<bool>> },
    Junction(Junction),
    Not(Box<Node>),
    IsNull(Box<Node>),
    In { value: Box<Node>, set: Box<ValueSet> },
    Like { value: Box<Node>, pattern: Box<LikePattern>, cache: DictionaryCache<Vec<bool>> },
    Case(Box<Case>),
    DatePart { part: DatePart, value: Box<Node> },
    Substring { value: Box<Node>, substring: Box<Substring> },
    Foreign(ForeignCall),
}

impl Node {
    /// Its value for each row.
    pub fn evaluate(&mut self, batch: &mut Batch) -> Result<Operand, ExecError> {
        let row_count = batch.row_count();
        Ok(match self {
            Self::Column(column) => Operand::Vector(batch.column(*column)),
            Self::Constant(value) => Operand::Constant(value.clone()),
            Self::Arithmetic { operation, range, left, right } => {
                let (left, right) = (left.evaluate(batch)?, right.evaluate(batch)?);
                arithmetic::arithmetic(*operation, *range, &left, &right, row_count)?
            }
            Self::ScaleUp { value, digits } => arithmetic::scale_up(&value.evaluate(batch)?, *digits, row_count)?,
            Self::Compare { comparison, left, right, cache } => {
                let (left, right) = (left.evaluate(batch)?, right.evaluate(batch)?);
                comparison::compare(*comparison, &left, &right, row_count, cache)
            }
            Self::Junction(junction) => junction.evaluate(batch)?,
            Self::Not(value) => not(&value.evaluate(batch)?, row_count),
            Self::IsNull(value) => is_null(&value.evaluate(batch)?, row_count),
            Self::In { value, set } => set.contains(&value.evaluate(batch)?),
            Self::Like { value, pattern, cache } => like(value.evaluate(batch)?, pattern, cache),
            Self::Case(case) => case.evaluate(batch)?,
            Self::DatePart { part, value } => date_part::date_part(*part, &value.evaluate(batch)?, row_count),
            Self::Substring { value, substring } => substring.of(&value.evaluate(batch)?),
            Self::Foreign(call) => call.evaluate(batch)?,
        })
    }

    /// For each row whether it is true.
    pub fn select(&mut self, batch: &mut Batch) -> Result<Vec<bool>, ExecError> {
        match self {
            Self::Junction(junction) => junction.select(batch),
            node => Ok(is_true(node.evaluate(batch)?, batch.row_count())),
        }
    }
}

fn like(text: Operand, pattern: &LikePattern, cache: &mut DictionaryCache<Vec<bool>>) -> Operand {
    if text.is_null() {
        return nulls();
    }
    let is_constant = matches!(text, Operand::Constant(_));
    let vector = text.into_vector(1);
    let found = select_strings(vector.values(), cache, |string| pattern.matches(string));
    let found = found.expect("LIKE is asked of strings");
    if is_constant {
        return Operand::Constant(Some(Scalar::Bool(found[0]).into()));
    }
    booleans(found, vector.valid().map(<[bool]>::to_vec))
}
