//! Several workloads as one, with the types of all of them.

use std::sync::Arc;

use braid_base::SeededRandom;

use crate::workloads::workload::Workload;

/// The types of the first part, then those of the second one, and so on. No part adds tables.
pub struct Union {
    parts: Vec<Arc<dyn Workload>>,
}

impl Union {
    /// The types of all `parts`. Panics if one of them adds tables.
    pub fn new(parts: Vec<Arc<dyn Workload>>) -> Self {
        assert!(parts.iter().all(|part| part.added_tables().is_empty()), "a union has no added tables");
        Self { parts }
    }
}

impl Workload for Union {
    fn type_count(&self) -> usize {
        self.parts.iter().map(|part| part.type_count()).sum()
    }

    fn text(&self, number: usize, random: &mut SeededRandom) -> String {
        let mut of_part = number;
        for part in &self.parts {
            if of_part < part.type_count() {
                return part.text(of_part, random);
            }
            of_part -= part.type_count();
        }
        panic!("there is no type {number}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workloads::look_ups::LookUps;
    use crate::workloads::tpch::TpchMix;

    #[test]
    fn the_types_are_those_of_the_parts_in_order() {
        let (light, heavy): (Arc<dyn Workload>, Arc<dyn Workload>) = (Arc::new(LookUps::new(1.0)), Arc::new(TpchMix));
        let union = Union::new(vec![Arc::clone(&light), Arc::clone(&heavy)]);
        assert_eq!(union.type_count(), 12);
        let text = |workload: &dyn Workload, number| workload.text(number, &mut SeededRandom::new(5));
        (0..4).for_each(|number| assert_eq!(text(&union, number), text(light.as_ref(), number)));
        (0..8).for_each(|number| assert_eq!(text(&union, 4 + number), text(heavy.as_ref(), number)));
    }
}
