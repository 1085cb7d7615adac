//! Random transactions: appends and reads, and faults within them.

use std::time::Duration;

use super::lists::{APPENDS_OF_TRANSACTION_MAX, Lists};
use crate::workloads::random_sql::draw::Draw;

/// Longest time until a cancel request or the end of a connection, in microseconds. Most statements take less than a millisecond.
const INTERRUPT_AFTER_US_MAX: i64 = 4_000;

/// A step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Appends an element to a list.
    Append { key: u64, element: u64 },
    /// Appends one and rolls that back, with a savepoint.
    AppendRolledBack { key: u64, element: u64 },
    /// Reads a list.
    Read { key: u64 },
}

/// What the client does meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Behaviour {
    /// It waits for all answers.
    Waits,
    /// It cancels a statement: that of a step, or the COMMIT behind the steps.
    Cancels { at: usize, after: Duration },
    /// It vanishes while a statement runs.
    Vanishes { at: usize, after: Duration },
    /// It rolls back in the end.
    RollsBack,
}

/// A transaction.
#[derive(Clone, Debug)]
pub(super) struct Transaction {
    pub(super) steps: Vec<Step>,
    /// Whether it is a statement by itself, without BEGIN and COMMIT.
    pub(super) is_implicit: bool,
    pub(super) behaviour: Behaviour,
}

impl Transaction {
    /// Draws one.
    pub(super) fn random(draw: &mut Draw, lists: &Lists) -> Self {
        let is_implicit = draw.percent(15);
        let count = if is_implicit { 1 } else { 1 + draw.below(APPENDS_OF_TRANSACTION_MAX as usize) };
        let steps = (0..count).map(|_| Step::random(draw, lists, is_implicit)).collect();
        let (at, after) =
            (draw.below(count + 1), Duration::from_micros(draw.between(0, INTERRUPT_AFTER_US_MAX) as u64));
        let behaviour = match draw.below(100) {
            0..4 => Behaviour::Cancels { at, after },
            4..7 => Behaviour::Vanishes { at, after },
            7..10 if !is_implicit => Behaviour::RollsBack,
            _ => Behaviour::Waits,
        };
        Self { steps, is_implicit, behaviour }
    }
}

impl Step {
    fn random(draw: &mut Draw, lists: &Lists, is_implicit: bool) -> Self {
        match draw.below(100) {
            0..45 => Self::Read { key: lists.any(draw) },
            45..50 if !is_implicit => {
                let (key, element) = lists.to_append(draw);
                Self::AppendRolledBack { key, element }
            }
            _ => {
                let (key, element) = lists.to_append(draw);
                Self::Append { key, element }
            }
        }
    }
}
