//! Statements that share nothing: each client has a statement type of its own, and no two types are one template.
//!
//! A type is a number of six bits, which choose the aggregates of its select list. The lowest bit chooses the condition as well. The
//! names of its columns contain the number. Constants are random.

use std::ops::Range;

use braid_base::{Random, SeededRandom};

use crate::workloads::workload::Workload;

/// An aggregate for each bit of a type, of about the same cost.
const AGGREGATES: [&str; 6] = [
    "sum(l_quantity)",
    "max(l_extendedprice)",
    "sum(l_discount)",
    "min(l_tax)",
    "max(l_quantity + l_tax)",
    "sum(l_extendedprice * l_discount)",
];

/// The columns of conditions, each with its smallest value and the number of its values.
const CONDITIONS: [(&str, u64, u64); 2] = [("l_quantity", 1, 50), ("l_suppkey", 1, 100)];

/// Each client has a type of its own, up to [`Self::TYPES`] clients.
pub struct Unlike;

impl Unlike {
    /// Number of types.
    pub const TYPES: usize = 1 << AGGREGATES.len();
}

impl Workload for Unlike {
    fn type_count(&self) -> usize {
        Self::TYPES
    }

    fn types_of(&self, client: usize) -> Range<usize> {
        let own = client % Self::TYPES;
        own..own + 1
    }

    fn text(&self, number: usize, random: &mut SeededRandom) -> String {
        let chosen = (0..AGGREGATES.len()).filter(|bit| number >> bit & 1 == 1);
        let aggregates: Vec<String> = chosen.map(|bit| format!(", {} as a{bit}_{number}", AGGREGATES[bit])).collect();
        let (column, low, count) = CONDITIONS[number % CONDITIONS.len()];
        let value = low + random.below(count);
        format!("select count(*) as n_{number}{} from lineitem where {column} >= {value}", aggregates.concat())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use super::*;
    use crate::workloads::workload::Texts;

    #[test]
    fn no_two_clients_have_the_same_shape() {
        let workload: Arc<dyn Workload> = Arc::new(Unlike);
        let shape = |text: &str| -> String {
            // Without the numbers in names, too.
            let (select, condition) = text.split_once(" from ").unwrap();
            let expressions: Vec<&str> =
                select.split(" as ").map(|part| part.split_once(", ").map_or(part, |p| p.1)).collect();
            format!("{expressions:?} {}", condition.rsplit_once(' ').unwrap().0)
        };
        let shapes =
            |client| Texts::of_client(&workload, client, 3).take(9).map(|t| shape(&t)).collect::<BTreeSet<_>>();
        let mut all = BTreeSet::new();
        for client in 0..Unlike::TYPES {
            let of_client = shapes(client);
            assert_eq!(of_client.len(), 1, "{of_client:?}");
            all.extend(of_client);
        }
        assert_eq!(all.len(), Unlike::TYPES, "{all:?}");
    }
}
