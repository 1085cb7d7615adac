//! The classes of queries of a pass over a stream of sorted rows without partitions.
//!
//! At first all queries are one class. A set that has some queries of a class and not the others divides the class: both go on with what it
//! knows of the rows so far, which they had in common. So each class has its own state of the functions, and its own last row.

use std::collections::VecDeque;
use std::sync::Arc;

use super::OPERATOR;
use super::evaluation::Evaluation;
use super::segment::{KeyRow, WindowKeys};
use super::segmentation::CutRows;
use crate::plan::SetColumn;
use crate::query_sets::set_calculator::{SetCalculator, set_column, sets_of};
use crate::runtime::result_rows::ResultRows;
use crate::{ExecError, MemoryBudget, Reservation, SetNumber, Vector};

/// The classes so far.
pub(super) struct ClassStates {
    sets: SetColumn,
    keys: Arc<WindowKeys>,
    budget: Arc<dyn MemoryBudget>,
    calculator: SetCalculator,
    classes: Vec<Class>,
    /// The segment whose classes are evaluated, and the numbers of the classes and of their rows that are left.
    rows: Option<CutRows>,
    left: VecDeque<(usize, Vec<u32>)>,
}

/// Queries that have had the same rows so far.
#[derive(Clone)]
struct Class {
    set: SetNumber,
    evaluation: Evaluation,
    /// The keys of its last row.
    before: Option<KeyRow>,
}

impl ClassStates {
    /// All queries as one class, which has had no rows.
    pub fn new(sets: SetColumn, keys: Arc<WindowKeys>, evaluation: Evaluation, budget: Arc<dyn MemoryBudget>) -> Self {
        let calculator = SetCalculator::new(sets.store.clone());
        let classes = vec![Class { set: SetNumber::ALL, evaluation, before: None }];
        Self { sets, keys, budget, calculator, classes, rows: None, left: VecDeque::new() }
    }

    /// Takes the next segment. That before has no classes left.
    ///
    /// # Errors
    /// When memory for a set is refused.
    pub fn take(&mut self, rows: CutRows) -> Result<(), ExecError> {
        let sets = sets_of(&rows.columns[self.sets.column]);
        let mut distinct = sets.clone();
        distinct.sort_unstable();
        distinct.dedup();
        distinct.iter().try_for_each(|set| self.divide(*set))?;
        let mut rows_of_classes: Vec<Vec<u32>> = vec![Vec::new(); self.classes.len()];
        let classes_of_sets: Vec<Vec<usize>> =
            distinct.iter().map(|set| self.classes_of(*set)).collect::<Result<_, _>>()?;
        for (row, set) in (0..).zip(&sets) {
            let at = distinct.binary_search(set).expect("all sets are there");
            classes_of_sets[at].iter().for_each(|class| rows_of_classes[*class].push(row));
        }
        self.left.extend(rows_of_classes.into_iter().enumerate().filter(|(_, rows)| !rows.is_empty()));
        self.rows = Some(rows);
        Ok(())
    }

    /// Divides the classes that have some queries of a set.
    fn divide(&mut self, set: SetNumber) -> Result<(), ExecError> {
        for at in 0..self.classes.len() {
            let class = self.classes[at].set;
            let inside = self.calculator.intersect(class, set)?;
            if inside == class || inside == SetNumber::EMPTY {
                continue;
            }
            let outside = self.calculator.subtract(class, set)?;
            self.classes[at].set = inside;
            self.classes.push(Class { set: outside, ..self.classes[at].clone() });
        }
        Ok(())
    }

    fn classes_of(&mut self, set: SetNumber) -> Result<Vec<usize>, ExecError> {
        let mut found = Vec::new();
        for (at, class) in self.classes.iter().enumerate() {
            if self.calculator.intersect(class.set, set)? == class.set {
                found.push(at);
            }
        }
        Ok(found)
    }

    /// The rows of the next class with their results; `None` if the segment has no class left.
    ///
    /// # Errors
    /// When a function fails, memory is refused, or the query is cancelled.
    pub fn next(&mut self) -> Result<Option<ResultRows>, ExecError> {
        let (Some((class, rows)), Some(segment)) = (self.left.pop_front(), &self.rows) else {
            self.rows = None;
            return Ok(None);
        };
        let class = &mut self.classes[class];
        let mut columns: Vec<Vector> = segment.columns.iter().map(|column| column.copy(&rows)).collect();
        columns[self.sets.column] = set_column(&vec![class.set; rows.len()]);
        let mut reservation = Reservation::new(self.budget.clone(), OPERATOR);
        reservation.resize(columns.iter().map(Vector::bytes).sum())?;
        let before = class.before.replace(self.keys.row(&columns, rows.len() - 1));
        class.evaluation.results(CutRows { row_count: rows.len(), columns, reservation, before }).map(Some)
    }

    /// Number of rows of the next class.
    pub fn row_count(&self) -> usize {
        self.left.front().map_or(0, |(_, rows)| rows.len())
    }
}
