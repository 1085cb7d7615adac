//! The versions of a plan's tables: what decides whether one query may have the answer of another.
//!
//! A version is named by its table, whose number is never used again, and the number of the commit that made it. Names are held,
//! not tables, so that nothing here keeps segments.

use braid_base::TableId;
use braid_storage::Catalog;

use crate::templates::plan_template::PlanTemplate;

/// The versions of the tables that a plan reads, in the plan's order of tables.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct TableVersions(Vec<(TableId, u64)>);

impl TableVersions {
    /// The versions that `snapshot` has of a plan's tables; `None` if one of them is gone.
    pub fn of(template: &PlanTemplate, snapshot: &Catalog) -> Option<Self> {
        let version = |(table, _): &(TableId, u64)| Some((*table, snapshot.by_id(*table)?.sequence));
        template.tables.iter().map(version).collect::<Option<_>>().map(Self)
    }

    /// Bytes of the names.
    pub fn bytes(&self) -> usize {
        self.0.len() * size_of::<(TableId, u64)>()
    }

    /// Whether no table has an older version here than in `other`, of the same plan.
    fn is_as_new_as(&self, other: &Self) -> bool {
        self.0.len() == other.0.len()
            && self
                .0
                .iter()
                .zip(&other.0)
                .all(|((table, own), (other_table, other))| table == other_table && own >= other)
    }
}

/// What a query may read of the tables of its plan.
#[derive(Clone, Debug)]
pub(crate) enum Reads {
    /// These versions, which were the newest when its statement began, or any newer ones of one snapshot.
    AtLeast(TableVersions),
    /// These versions: those of the snapshot of its transaction block.
    Only(TableVersions),
}

impl Reads {
    /// Whether the query may have an answer that was made of `versions`, which are those of one snapshot.
    pub fn allow(&self, versions: &TableVersions) -> bool {
        match self {
            Self::AtLeast(oldest) => versions.is_as_new_as(oldest),
            Self::Only(only) => versions == only,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn versions(of: &[(u32, u64)]) -> TableVersions {
        TableVersions(of.iter().map(|(table, sequence)| (TableId(*table), *sequence)).collect())
    }

    #[test]
    fn a_query_reads_what_was_committed_before_it_or_one_snapshot() {
        let own = versions(&[(1, 5), (2, 7)]);
        for (found, at_least, only) in [
            (&[(1, 5), (2, 7)][..], true, true),
            (&[(1, 6), (2, 7)], true, false),
            (&[(1, 4), (2, 7)], false, false),
            (&[(1, 6), (2, 6)], false, false),
            (&[(1, 5), (3, 7)], false, false),
            (&[(1, 5)], false, false),
        ] {
            assert_eq!(Reads::AtLeast(own.clone()).allow(&versions(found)), at_least, "{found:?}");
            assert_eq!(Reads::Only(own.clone()).allow(&versions(found)), only, "{found:?}");
        }
    }
}
