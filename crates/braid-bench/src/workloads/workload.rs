//! A workload: tables that it adds to those of TPC-H, and a seeded stream of texts for each client.
//!
//! A workload has statement types. A text is a type with random parameters. The texts of a seed are the same on every machine, so
//! that all engines and all rounds of a measurement get the same queries.

use std::ops::Range;
use std::sync::Arc;

use braid_base::{Random, SeededRandom};

/// A table that a workload adds to those of TPC-H.
#[derive(Clone, Copy, Debug)]
pub struct AddedTable {
    /// Its name.
    pub name: &'static str,
    /// The query that selects its rows from TPC-H's tables. All engines understand it.
    pub query: &'static str,
}

/// The texts that clients send.
pub trait Workload: Send + Sync {
    /// The tables that it adds, in the order in which they are made.
    fn added_tables(&self) -> &'static [AddedTable] {
        &[]
    }

    /// Number of its statement types.
    fn type_count(&self) -> usize;

    /// The types that a client sends, each equally often.
    fn types_of(&self, client: usize) -> Range<usize> {
        let _ = client;
        0..self.type_count()
    }

    /// A text of a type, which is below [`Self::type_count`]. It orders its rows completely if it returns several.
    fn text(&self, number: usize, random: &mut SeededRandom) -> String;
}

/// The endless stream of a client's texts, determined by a seed.
pub struct Texts {
    workload: Arc<dyn Workload>,
    types: Range<usize>,
    random: SeededRandom,
}

impl Texts {
    /// The stream of a client, whose number is part of the seed.
    pub fn of_client(workload: &Arc<dyn Workload>, client: usize, seed: u64) -> Self {
        let random = SeededRandom::new(seed + client as u64);
        Self { workload: Arc::clone(workload), types: workload.types_of(client), random }
    }
}

impl Iterator for Texts {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        let number = self.types.start + self.random.below(self.types.len() as u64) as usize;
        Some(self.workload.text(number, &mut self.random))
    }
}
