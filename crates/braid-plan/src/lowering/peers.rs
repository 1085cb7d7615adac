//! DISTINCT ON and WITH TIES, over rows in their order.
//!
//! DISTINCT ON keeps the first row of those that are equal in its keys. If these are the first keys of the input's order, equal rows come one
//! after the other. Otherwise the input is sorted by these first keys, the other keys of DISTINCT ON, and the rest of its order.

use braid_exec::plan::Plan;
use braid_exec::runtime::peers::KeptPeers;
use braid_sql::relation::{Relation, SortKey};
use braid_sql::{Expression, SqlError};

use super::query::Lowering;
use super::relations::Input;

impl Lowering<'_> {
    /// `DISTINCT ON`
    pub(super) fn distinct_on(&self, input: &Relation, keys: &[Expression]) -> Result<Input, SqlError> {
        let order = order_of(input);
        let is_key = |key: &SortKey| keys.contains(&key.expression);
        let leading: Vec<&SortKey> = order.iter().take_while(|key| is_key(key)).collect();
        let missing: Vec<&Expression> =
            keys.iter().filter(|key| !leading.iter().any(|leading| leading.expression == **key)).collect();
        if missing.is_empty() {
            return self.peers(self.relation(input)?, keys, KeptPeers::First);
        }
        let added = missing.into_iter().map(|expression| SortKey {
            expression: expression.clone(),
            is_descending: false,
            nulls_first: false,
        });
        // Further keys, which unnesting adds, come before the rest of the order, which chooses among equal rows.
        let rest = &order[leading.len()..];
        let order: Vec<SortKey> = leading.into_iter().cloned().chain(added).chain(rest.iter().cloned()).collect();
        let sorted = self.sort(without_sort(input), &order, None)?;
        self.peers(sorted, keys, KeptPeers::First)
    }

    /// `LIMIT` with ties, over rows that are sorted by these keys.
    pub(super) fn limit_with_ties(
        &self,
        input: &Relation,
        (offset, limit): (u64, u64),
        ties: &[SortKey],
    ) -> Result<Input, SqlError> {
        let keys: Vec<Expression> = ties.iter().map(|key| key.expression.clone()).collect();
        self.peers(self.relation(input)?, &keys, KeptPeers::WithTies { offset, limit })
    }

    /// Rows of an input by their peers in these keys.
    fn peers(&self, input: Input, keys: &[Expression], kept: KeptPeers) -> Result<Input, SqlError> {
        let columns = input.columns.clone();
        let keys = keys.iter().map(|key| self.comparable(key, &columns)).collect::<Result<_, _>>()?;
        let (plan, keys) = input.with_positions(keys);
        let is_wider = plan.column_count() > columns.len();
        let peers = Input { plan: Plan::Peers { input: Box::new(plan), keys, kept }, columns };
        Ok(if is_wider { peers.with_columns(Vec::new()) } else { peers })
    }
}

/// The keys by which the rows of a relation are sorted, as its plan keeps them.
fn order_of(relation: &Relation) -> &[SortKey] {
    match relation {
        Relation::Sort { keys, .. } => keys,
        Relation::Filter { input, .. }
        | Relation::Map { input, .. }
        | Relation::Limit { input, .. }
        | Relation::DistinctOn { input, .. } => order_of(input),
        Relation::Expand(expansion) => order_of(&expansion.input),
        _ => &[],
    }
}

/// What a sort by the same keys and further ones makes superfluous.
fn without_sort(relation: &Relation) -> &Relation {
    match relation {
        Relation::Sort { input, .. } => input,
        other => other,
    }
}
