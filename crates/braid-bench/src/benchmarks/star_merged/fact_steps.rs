//! The part of a merged pass that all templates share: conditions on the fact table, and one join with each dimension.
//!
//! Each step narrows the words of a batch's rows. Rows that no query wants are dropped once they are worth the copy.

use std::sync::Arc;

use braid_exec::values::vector::Values;
use braid_exec::{Batch, ExecError, PredicateIndex, RowClass, Vector};

use super::dimension::Dimension;
use super::row_words::{ClassWords, RowWords};

/// Rows are dropped when at most this part of them remains, in quarters. Fewer dropped rows cost less than their copy.
const KEPT_QUARTERS_MAX: usize = 3;

/// The conditions on a column of the fact table.
pub struct FactCondition {
    /// The column of the batch.
    pub column: usize,
    /// The conditions, over the bits of the pass.
    pub index: Arc<PredicateIndex>,
    /// The words of its classes.
    pub words: ClassWords,
}

/// What the workers share.
pub struct FactPlan {
    /// The bits of each word that have a query.
    pub used: Vec<u64>,
    /// The conditions.
    pub conditions: Vec<FactCondition>,
    /// The dimensions in the order of their joins, each with the column of the batch that refers to it.
    pub dimensions: Vec<(usize, Dimension)>,
}

/// One worker's state.
pub struct FactSteps {
    plan: Arc<FactPlan>,
    words: RowWords,
    classes: Vec<RowClass>,
    dimension_classes: Vec<u16>,
    rows: Vec<u32>,
}

impl FactSteps {
    /// The state of a worker.
    pub fn new(plan: Arc<FactPlan>) -> Self {
        let words = RowWords::default();
        Self { plan, words, classes: Vec::new(), dimension_classes: Vec::new(), rows: Vec::new() }
    }

    /// The words of the present rows.
    pub fn words(&self) -> &RowWords {
        &self.words
    }

    /// Evaluates the conditions on the fact table.
    ///
    /// # Errors
    /// When a column has other values than integers.
    pub fn begin(&mut self, batch: &mut Batch) -> Result<(), ExecError> {
        self.words.begin(&self.plan.used, batch.row_count());
        for FactCondition { column, index, words } in &self.plan.conditions {
            self.classes.clear();
            index.classes_of_integers(integers(&batch.column(*column))?, &mut self.classes);
            self.words.narrow(&self.classes, words, RowClass::index);
        }
        Ok(())
    }

    /// Joins the dimension at this position.
    ///
    /// # Errors
    /// When the key has other values than integers.
    pub fn join(&mut self, at: usize, batch: &mut Batch) -> Result<(), ExecError> {
        let (column, dimension) = &self.plan.dimensions[at];
        dimension.classes_of(integers(&batch.column(*column))?, &mut self.dimension_classes);
        self.words.narrow(&self.dimension_classes, &dimension.words, usize::from);
        self.words.wanted(&mut self.rows);
        if self.rows.len() * 4 <= batch.row_count() * KEPT_QUARTERS_MAX {
            self.words.keep(&self.rows);
            batch.take(&self.rows);
        }
        Ok(())
    }
}

/// The values of a column of integers. The columns of the fact table have no nulls, and numerics of at most 64 bits.
///
/// # Errors
/// When it has other values.
pub fn integers(vector: &Vector) -> Result<&[i64], ExecError> {
    match (vector.values(), vector.valid()) {
        (Values::Int(values), None) => Ok(values),
        _ => Err(ExecError::Foreign("a column of the fact table has nulls or wide values".into())),
    }
}
