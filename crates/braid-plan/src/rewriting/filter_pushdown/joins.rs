//! Where conditions go at a join.

use braid_sql::Expression;
use braid_sql::relation::{ColumnId, JoinKind, Relation};

use super::Pushdown;
use super::conjunct::{Conjunct, condition, may_follow, with_filters};
use crate::rewriting::nulls::is_never_null;

/// The sides of a join that a condition reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Neither,
    Left,
    Right,
    Both,
}

/// The sides to which conditions may go.
#[derive(Clone, Copy, Debug)]
struct Open {
    left: bool,
    right: bool,
}

impl JoinSides {
    fn of(&self, conjunct: &Conjunct) -> Side {
        let reads = |side: &SideColumns| conjunct.columns.iter().any(|column| side.contains(*column));
        match (reads(&self.left), reads(&self.right)) {
            (false, false) => Side::Neither,
            (true, false) => Side::Left,
            (false, true) => Side::Right,
            (true, true) => Side::Both,
        }
    }

    /// What follows from a condition for the sides that are open.
    fn consequences(&self, conjunct: &Conjunct, open: Open, to: &mut [Vec<Conjunct>; 2]) {
        if open.left {
            to[0].extend(conjunct.consequence(&|column| self.left.contains(column)));
        }
        if open.right {
            to[1].extend(conjunct.consequence(&|column| self.right.contains(column)));
        }
    }
}

/// The columns of both sides.
struct JoinSides {
    left: SideColumns,
    right: SideColumns,
}

/// The columns of a side, in the order of their numbers.
struct SideColumns(Vec<ColumnId>);

impl SideColumns {
    fn of(side: &Relation) -> Self {
        let mut columns = side.columns();
        columns.sort_unstable();
        Self(columns)
    }

    /// Whether a column is one of them.
    fn contains(&self, column: ColumnId) -> bool {
        self.0.binary_search(&column).is_ok()
    }
}

impl Pushdown<'_> {
    /// A join with its own condition and those above it.
    pub(super) fn join(
        &mut self,
        kind: JoinKind,
        (left, right): (Relation, Relation),
        own: Expression,
        above: Vec<Conjunct>,
    ) -> Relation {
        let sides = JoinSides { left: SideColumns::of(&left), right: SideColumns::of(&right) };
        let own = self.conjuncts(own);
        let is_cross = own.is_empty() && kind == JoinKind::Inner;
        let mut to: [Vec<Conjunct>; 2] = Default::default();
        let (mut here, mut stay) = (Vec::new(), Vec::new());
        let open = open_to_own(kind);
        for conjunct in own {
            let may_move = !conjunct.is_volatile && !conjunct.may_fail;
            // A comparison that is null for a row of the right side makes a mark null.
            let may_move = may_move && (!matches!(kind, JoinKind::Mark(_)) || is_never_null(&conjunct.expression));
            match sides.of(&conjunct) {
                Side::Left if may_move && open.left => to[0].push(conjunct),
                Side::Right if may_move && open.right => to[1].push(conjunct),
                side => {
                    if side == Side::Both && !matches!(kind, JoinKind::Mark(_)) {
                        sides.consequences(&conjunct, open, &mut to);
                    }
                    here.push(conjunct);
                }
            }
        }
        let open = open_from_above(kind);
        for conjunct in above {
            let side = sides.of(&conjunct);
            let reads_mark = matches!(kind, JoinKind::Mark(mark) if conjunct.columns.contains(&mark));
            let may_move =
                !conjunct.is_volatile && !reads_mark && (!conjunct.may_fail || keeps_all_rows(kind) && stay.is_empty());
            match side {
                Side::Left if may_move && open.left => to[0].push(conjunct),
                Side::Right if may_move && open.right => to[1].push(conjunct),
                _ => {
                    if side == Side::Both {
                        sides.consequences(&conjunct, open, &mut to);
                    }
                    let may_join = !conjunct.is_volatile
                        && (!conjunct.may_fail || is_cross && stay.is_empty())
                        && may_follow(&conjunct, &here);
                    match kind == JoinKind::Inner && side == Side::Both && may_join {
                        true => here.push(conjunct),
                        false => stay.push(conjunct),
                    }
                }
            }
        }
        let [to_left, to_right] = to;
        let left = Box::new(self.pushed(left, to_left));
        let right = Box::new(self.pushed(right, to_right));
        with_filters(Relation::Join { kind, left, right, condition: condition(here) }, stay)
    }
}

/// The sides whose rows a condition of the join may drop before it.
fn open_to_own(kind: JoinKind) -> Open {
    let (left, right) = match kind {
        JoinKind::Inner | JoinKind::Semi => (true, true),
        JoinKind::Left | JoinKind::Single | JoinKind::Anti | JoinKind::Mark(_) => (false, true),
        JoinKind::Right => (true, false),
        JoinKind::Full => (false, false),
    };
    Open { left, right }
}

/// The sides whose rows a condition above the join may drop before it.
fn open_from_above(kind: JoinKind) -> Open {
    let (left, right) = match kind {
        JoinKind::Inner => (true, true),
        JoinKind::Left | JoinKind::Single | JoinKind::Semi | JoinKind::Anti | JoinKind::Mark(_) => (true, false),
        JoinKind::Right => (false, true),
        JoinKind::Full => (false, false),
    };
    Open { left, right }
}

/// Whether each row of the side that is open from above is in the result.
fn keeps_all_rows(kind: JoinKind) -> bool {
    matches!(kind, JoinKind::Left | JoinKind::Right | JoinKind::Single | JoinKind::Mark(_))
}
