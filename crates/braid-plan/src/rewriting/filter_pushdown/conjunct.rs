//! The conjuncts that are on their way down, and the filters that they become in the end.

use std::collections::BTreeSet;

use braid_sql::Expression;
use braid_sql::expression::Node;
use braid_sql::relation::{ColumnId, Columns, Relation};

use crate::rewriting::expressions::{
    Substitution, all_of, conjuncts, filtered, has_subquery, is_volatile, replaced, truth,
};
use crate::rewriting::failing::may_fail;
use crate::rewriting::identity_types::is_identity;

/// Most expressions of a conjunct after columns were replaced by what they are.
const SIZE_MAX: usize = 400;

/// The same by an estimate that is made before.
const ESTIMATED_SIZE_MAX: usize = 100_000;

/// Most conditions of a filter among which one that is there already is looked for.
const COMPARED_MAX: usize = 100;

/// A conjunct.
#[derive(Clone, Debug)]
pub(super) struct Conjunct {
    pub expression: Expression,
    /// What it reads.
    pub columns: BTreeSet<ColumnId>,
    /// Whether it fails for some rows.
    pub may_fail: bool,
    /// Whether it stays where it is.
    pub is_volatile: bool,
    /// Whether it has a subquery, which must not be there twice.
    pub has_subquery: bool,
    /// The condition that it comes from. Of several, a lower one is evaluated first.
    stage: usize,
    /// Whether it follows from another one.
    is_derived: bool,
}

impl Conjunct {
    fn new(expression: Expression, stage: usize) -> Self {
        Self {
            columns: expression.free_columns(),
            may_fail: may_fail(&expression),
            is_volatile: is_volatile(&expression),
            has_subquery: has_subquery(&expression),
            expression,
            stage,
            is_derived: false,
        }
    }

    /// The conjuncts of a condition, which is one stage.
    pub fn all(condition: Expression, stage: usize) -> Vec<Self> {
        conjuncts(condition).into_iter().map(|each| Self::new(each, stage)).collect()
    }

    /// The conjunct with columns replaced by expressions; `None` if one of these is volatile or has subqueries, or it gets too long.
    pub fn replaced(&self, substitution: &Substitution) -> Option<Self> {
        let replacements: Vec<&Expression> =
            self.columns.iter().filter_map(|column| substitution.get(column)).collect();
        if replacements.iter().any(|each| is_volatile(each) || has_subquery(each)) {
            return None;
        }
        let longest = replacements.iter().map(|each| size_of(each)).max().unwrap_or(1);
        if longest > 1 && longest.saturating_mul(size_of(&self.expression)) > ESTIMATED_SIZE_MAX {
            return None;
        }
        let replaced = self.renamed(substitution);
        (longest == 1 || size_of(&replaced.expression) <= SIZE_MAX).then_some(replaced)
    }

    /// The conjunct with other columns.
    pub fn renamed(&self, substitution: &Substitution) -> Self {
        let expression = replaced(self.expression.clone(), substitution);
        Self { is_derived: self.is_derived, ..Self::new(expression, self.stage) }
    }

    /// What follows from an OR if only conditions on known columns are kept: `(a AND x) OR (b AND y)` implies `a OR b`.
    pub fn consequence(&self, is_known: &dyn Fn(ColumnId) -> bool) -> Option<Self> {
        let Node::Or(alternatives) = &self.expression.node else { return None };
        if self.may_fail || self.is_volatile || self.has_subquery {
            return None;
        }
        let is_of_known = |each: &Expression| each.free_columns().into_iter().all(is_known);
        let mut known: Vec<Expression> = Vec::new();
        for alternative in alternatives {
            let parts: Vec<Expression> = conjuncts(alternative.clone()).into_iter().filter(is_of_known).collect();
            if parts.is_empty() {
                return None;
            }
            let part = all_of(parts);
            if !known.contains(&part) {
                known.push(part);
            }
        }
        let expression = if known.len() == 1 { known.remove(0) } else { truth(Node::Or(known)) };
        let consequence = Self { is_derived: true, ..Self::new(expression, self.stage) };
        (!consequence.columns.is_empty()).then_some(consequence)
    }

    /// Whether it is the same for values that are equal: these columns are of types whose equal values are the same, or it compares them.
    pub fn respects_equality(&self, columns: &Columns) -> bool {
        let others = self.columns.iter().copied().filter(|column| !is_identity(*column, columns));
        let others: BTreeSet<ColumnId> = others.collect();
        others.is_empty() || !self.has_subquery && compares_only(&self.expression, &others)
    }
}

/// Whether an expression reads columns as operands of comparisons only.
fn compares_only(expression: &Expression, columns: &BTreeSet<ColumnId>) -> bool {
    let is_compared = crate::rewriting::failing::is_comparison(expression);
    expression.operands().into_iter().all(|operand| match operand.node {
        Node::Column(column, _) => is_compared || !columns.contains(&column),
        _ => compares_only(operand, columns),
    })
}

/// Expressions of an expression.
fn size_of(expression: &Expression) -> usize {
    1 + expression.operands().into_iter().map(size_of).sum::<usize>()
}

/// Whether a conjunct passes an operator.
pub(super) enum Passage {
    /// It does, and is the same below.
    Same,
    /// It does, and is another one below.
    As(Conjunct),
    /// It does not.
    Stays,
}

impl Passage {
    /// Of one that is the same below if it passes.
    pub fn if_passes(passes: bool) -> Self {
        if passes { Self::Same } else { Self::Stays }
    }
}

impl From<Option<Conjunct>> for Passage {
    fn from(below: Option<Conjunct>) -> Self {
        below.map_or(Self::Stays, Self::As)
    }
}

/// Divides conjuncts into those that pass an operator, as they are below it, and those that stay. One that may fail stays behind one that
/// stays, which may be its guard.
pub(super) fn divided(
    conjuncts: Vec<Conjunct>,
    mut passage: impl FnMut(&Conjunct) -> Passage,
) -> (Vec<Conjunct>, Vec<Conjunct>) {
    let (mut down, mut stay): (Vec<Conjunct>, Vec<Conjunct>) = (Vec::new(), Vec::new());
    for conjunct in conjuncts {
        let is_guarded = conjunct.may_fail && !stay.is_empty();
        let passage = if conjunct.is_volatile || is_guarded { Passage::Stays } else { passage(&conjunct) };
        match passage {
            Passage::Same => down.push(conjunct),
            Passage::As(below) => down.push(below),
            Passage::Stays => stay.push(conjunct),
        }
    }
    (down, stay)
}

/// The condition of conjuncts, without those that are there already.
pub(super) fn condition(conjuncts: Vec<Conjunct>) -> Expression {
    let mut conditions: Vec<Expression> = Vec::with_capacity(conjuncts.len());
    for conjunct in conjuncts {
        let is_compared = !conjunct.is_volatile && (conjunct.is_derived || conditions.len() < COMPARED_MAX);
        if !is_compared || !conditions.contains(&conjunct.expression) {
            conditions.push(conjunct.expression);
        }
    }
    all_of(conditions)
}

/// The rows for which all conjuncts are true. One that may fail is not in a filter with those of a lower stage: in one condition it is
/// evaluated where they are null, too.
pub(super) fn with_filters(mut relation: Relation, conjuncts: Vec<Conjunct>) -> Relation {
    let mut together: Vec<Conjunct> = Vec::new();
    for conjunct in conjuncts {
        let is_later = |other: Option<&Conjunct>| other.is_some_and(|other| other.stage != conjunct.stage);
        if conjunct.may_fail && (is_later(together.first()) || is_later(together.last())) {
            relation = filtered(relation, vec![condition(std::mem::take(&mut together))]);
        }
        together.push(conjunct);
    }
    match together.is_empty() {
        true => relation,
        false => filtered(relation, vec![condition(together)]),
    }
}

/// Whether conjuncts may be one condition with another: it cannot fail, or is of their stage.
pub(super) fn may_follow(conjunct: &Conjunct, others: &[Conjunct]) -> bool {
    !conjunct.may_fail || others.iter().all(|other| other.stage == conjunct.stage)
}
