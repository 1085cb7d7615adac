//! AND, OR and NOT in three-valued logic.
//!
//! The first part that is false (for AND) or true (for OR) decides a row; later parts skip the row. Parts are evaluated in
//! the order that decides most rows for the least work, according to the rows seen so far, within these rules:
//!
//! 1. A part that can fail stays after all parts before it, so that it is not evaluated for rows that those decide.
//! 2. A cheap part that cannot fail may move forward. It can only decide rows on which other parts would fail.
//! 3. A part that fails is evaluated again for the undecided rows alone, and only their errors count.
//!
//! [`Junction::select`], which returns only whether rows are true, treats null as undecided in OR and as false in AND.

use crate::exec_error::ExecError;
use crate::expression::operand::{Operand, booleans, nulls};
use crate::expression::row_subset::{Evaluated, Part, as_booleans, selected_rows, take, truths};
use crate::{Batch, Vector};

/// Number of selections after which the order is computed again, and the counts are halved.
const REORDER_BATCHES: u32 = 16;

/// The connective of the parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Connective {
    And,
    Or,
}

/// Several conditions with one connective.
#[derive(Debug)]
pub(super) struct Junction {
    connective: Connective,
    members: Vec<Member>,
    batch_count: u32,
}

#[derive(Debug)]
struct Member {
    part: Part,
    /// The group of the member. Members are sorted by group first, so that rule 1 holds.
    group: u32,
    /// The rows that it was evaluated for, and the rows that it decided.
    row_count: u64,
    decided: u64,
}

impl Connective {
    /// The value of a part that decides.
    pub fn decisive(self) -> bool {
        self == Self::Or
    }
}

impl Junction {
    /// A junction of the parts, in the order of the statement.
    pub fn new(connective: Connective, parts: impl IntoIterator<Item = Part>) -> Self {
        let mut group = 0;
        let mut members = Vec::new();
        for part in parts {
            if part.fallible {
                // A fallible part is a group of its own.
                members.push(Member { part, group: group + 1, row_count: 0, decided: 0 });
                group += 2;
            } else {
                let group = if part.cost <= 8 { 0 } else { group };
                members.push(Member { part, group, row_count: 0, decided: 0 });
            }
        }
        let mut junction = Self { connective, members, batch_count: 0 };
        junction.reorder();
        junction
    }

    /// For each row whether it is true.
    pub fn select(&mut self, batch: &mut Batch) -> Result<Vec<bool>, ExecError> {
        self.batch_count += 1;
        if self.batch_count == REORDER_BATCHES {
            self.reorder();
        }
        let row_count = batch.row_count();
        let decisive = self.connective.decisive();
        let mut undecided = vec![true; row_count];
        let mut left = row_count;
        let mut subset: Option<(Batch, Vec<u32>)> = None;
        for at in 0..self.members.len() {
            if left == 0 {
                break;
            }
            if self.members[at].part.wants_subset(left, undecided.len()) {
                self.shrink(at, batch, &mut subset, &mut undecided);
            }
            let current = subset.as_mut().map_or(&mut *batch, |(taken, _)| taken);
            let selected = match self.members[at].part.node.select(current) {
                Err(_) if left < undecided.len() => {
                    self.shrink(at, batch, &mut subset, &mut undecided);
                    let (taken, _) = subset.as_mut().expect("it was just made");
                    self.members[at].part.node.select(taken)?
                }
                selected => selected?,
            };
            undecided.iter_mut().zip(&selected).for_each(|(undecided, selected)| *undecided &= *selected ^ decisive);
            let before = left;
            left = undecided.iter().map(|undecided| usize::from(*undecided)).sum();
            self.members[at].row_count += before as u64;
            self.members[at].decided += (before - left) as u64;
        }
        if decisive {
            undecided.iter_mut().for_each(|undecided| *undecided = !*undecided);
        }
        let Some((_, rows)) = subset else { return Ok(undecided) };
        let mut all = vec![decisive; row_count];
        rows.iter().zip(&undecided).for_each(|(row, is_true)| all[*row as usize] = *is_true);
        Ok(all)
    }

    /// Reduces the batch to the undecided rows, for the members from `at` on.
    fn shrink(&self, at: usize, batch: &Batch, subset: &mut Option<(Batch, Vec<u32>)>, undecided: &mut Vec<bool>) {
        let left = selected_rows(undecided);
        let needed = |column: usize| self.members[at..].iter().any(|member| member.part.columns.contains(&column));
        *subset = Some(match subset.take() {
            None => (take(batch, &left, needed), left.clone()),
            Some((taken, rows)) => (take(&taken, &left, needed), left.iter().map(|row| rows[*row as usize]).collect()),
        });
        *undecided = vec![true; left.len()];
    }

    /// True, false or null for each row.
    pub fn evaluate(&mut self, batch: &mut Batch) -> Result<Operand, ExecError> {
        let row_count = batch.row_count();
        let decisive = self.connective.decisive();
        let mut decided = vec![false; row_count];
        let mut null = vec![false; row_count];
        for member in &mut self.members {
            let undecided = selected_rows(&decided.iter().map(|decided| !decided).collect::<Vec<bool>>());
            if undecided.is_empty() && row_count > 0 {
                break;
            }
            match member.part.evaluate_at(batch, &undecided)? {
                Evaluated::Whole(operand) => {
                    let vector = as_booleans(operand, row_count);
                    let values = truths(&vector);
                    if let Some(valid) = vector.valid() {
                        for row in 0..row_count {
                            decided[row] |= valid[row] & (values[row] == decisive);
                            null[row] |= !valid[row];
                        }
                    } else {
                        decided.iter_mut().zip(values).for_each(|(decided, value)| *decided |= *value == decisive);
                    }
                }
                Evaluated::Taken(operand) => {
                    let vector = as_booleans(operand, undecided.len());
                    let values = truths(&vector);
                    for (at, row) in undecided.iter().enumerate() {
                        decided[*row as usize] = vector.is_valid(at) && values[at] == decisive;
                        null[*row as usize] |= !vector.is_valid(at);
                    }
                }
            }
        }
        let valid =
            null.contains(&true).then(|| decided.iter().zip(&null).map(|(decided, null)| *decided | !null).collect());
        let values = decided.into_iter().map(|decided| decided == decisive).collect();
        Ok(booleans(values, valid))
    }

    /// Most decided rows for the least work first, among members of a group.
    fn reorder(&mut self) {
        self.batch_count = 0;
        // The initial estimate is one row of two.
        let decided_share = |member: &Member| (member.decided + 1) as f64 / (member.row_count + 2) as f64;
        let rank = |member: &Member| f64::from(member.part.cost) / decided_share(member);
        self.members.sort_by(|a, b| a.group.cmp(&b.group).then(rank(a).total_cmp(&rank(b))));
        for member in &mut self.members {
            member.row_count /= 2;
            member.decided /= 2;
        }
    }
}

/// NOT; null for null.
pub(super) fn not(operand: &Operand, row_count: usize) -> Operand {
    if operand.is_null() {
        return nulls();
    }
    let vector = as_booleans(operand.clone(), row_count);
    let values = truths(&vector).iter().map(|value| !value).collect();
    booleans(values, vector.valid().map(<[bool]>::to_vec))
}

/// IS NULL.
pub(super) fn is_null(operand: &Operand, row_count: usize) -> Operand {
    let values = match operand {
        Operand::Constant(value) => vec![value.is_none(); row_count],
        Operand::Vector(vector) => match vector.valid() {
            Some(valid) => valid.iter().map(|valid| !valid).collect(),
            None => vec![false; row_count],
        },
    };
    booleans(values, None)
}

/// For each row whether a condition is true.
pub(super) fn is_true(operand: Operand, row_count: usize) -> Vec<bool> {
    let vector = as_booleans(operand, row_count);
    match vector.valid() {
        Some(valid) => valid.iter().zip(truths(&vector)).map(|(valid, value)| *valid & *value).collect(),
        None => match std::sync::Arc::try_unwrap(vector).map(Vector::into_parts) {
            Ok((crate::values::vector::Values::Bool(values), _)) => values,
            Ok(_) => panic!("a condition that is not boolean"),
            Err(shared) => truths(&shared).to_vec(),
        },
    }
}
