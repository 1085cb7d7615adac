//! What statements with parameters were described as: the types of their parameters, and their columns.
//!
//! Clients that prepare each statement before they run it (JDBC and psycopg, unless told otherwise) ask for a description each
//! time. To make one a statement is planned, so that it is kept. It is right for a statement of the same text template, with the
//! same constants and declared types, as long as the tables that were read have the same columns.
//!
//! Bound: two generations of [`GENERATION_BYTES_MAX`]. When the younger one is full it becomes the older one, whose descriptions
//! are gone unless they were used meanwhile.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use braid_base::TableId;
use braid_storage::TableDef;
use parking_lot::Mutex;

use crate::statement::{HoleContent, ScannedText};
use crate::{ParameterType, Prepared};

/// Most bytes that the keys and descriptions of a generation are estimated to take: 4 MiB.
const GENERATION_BYTES_MAX: usize = 4 << 20;

/// Most descriptions of a text template, for different constants or declared types.
const OF_TEMPLATE_MAX: usize = 4;

/// Bytes of a column or a parameter in a description: its name, its type, its entry in a list.
const COLUMN_BYTES: usize = 200;

/// A description, and what it depends on.
#[derive(Clone, Debug)]
pub(crate) struct Description {
    /// What stands in the holes of the text. Parameters have no values here.
    pub holes: Vec<HoleContent>,
    /// The types of parameters that the client declared.
    pub declared: Vec<Option<ParameterType>>,
    /// The tables that the statement reads, as they were.
    pub tables: Vec<Arc<TableDef>>,
    /// The description.
    pub prepared: Prepared,
}

impl Description {
    fn is_of(&self, scanned: &ScannedText) -> bool {
        self.holes.iter().eq(scanned.holes.iter().map(|hole| &hole.content))
    }

    /// Whether the tables are there, with the same columns.
    fn suits(&self, table_of: impl Fn(TableId) -> Option<Arc<TableDef>>) -> bool {
        self.tables.iter().all(|known| {
            table_of(known.id).is_some_and(|table| {
                Arc::ptr_eq(known, &table) || known.name == table.name && known.columns == table.columns
            })
        })
    }

    fn bytes(&self) -> usize {
        let columns = self.prepared.schema.as_ref().map_or(0, |schema| schema.fields().len());
        size_of::<Self>() + (self.holes.len() + self.declared.len() + self.tables.len() + columns) * COLUMN_BYTES
    }
}

/// The descriptions of a database.
#[derive(Debug, Default)]
pub(crate) struct DescriptionCache {
    generations: Mutex<Generations>,
    found: AtomicU64,
}

/// The descriptions of a text template.
type OfTemplate = Arc<[Description]>;

#[derive(Debug, Default)]
struct Generations {
    young: HashMap<Arc<str>, OfTemplate>,
    young_bytes: usize,
    old: HashMap<Arc<str>, OfTemplate>,
}

impl DescriptionCache {
    /// Whether a text may have a description.
    pub fn is_known(&self, key: &str, scanned: &ScannedText) -> bool {
        let known = self.generations.lock().of_template(key);
        known.is_some_and(|known| known.iter().any(|description| description.is_of(scanned)))
    }

    /// The description of a statement, where `table_of` knows the tables as they are.
    pub fn find(
        &self,
        key: &str,
        scanned: &ScannedText,
        declared: &[Option<ParameterType>],
        table_of: impl Fn(TableId) -> Option<Arc<TableDef>>,
    ) -> Option<Prepared> {
        let known = self.generations.lock().of_template(key)?;
        let is_it = |description: &&Description| {
            description.declared == declared && description.is_of(scanned) && description.suits(&table_of)
        };
        let found = known.iter().find(is_it)?;
        self.found.fetch_add(1, Ordering::Relaxed);
        Some(found.prepared.clone())
    }

    /// How often a description was found.
    pub fn found_count(&self) -> u64 {
        self.found.load(Ordering::Relaxed)
    }

    /// Keeps a description. It takes the place of one that depended on other tables.
    pub fn keep(&self, key: &str, description: Description) {
        let mut generations = self.generations.lock();
        let known = generations.of_template(key);
        let is_other =
            |known: &&Description| (&known.holes, &known.declared) != (&description.holes, &description.declared);
        let others = known.iter().flat_map(|known| known.iter()).filter(is_other).take(OF_TEMPLATE_MAX - 1).cloned();
        let descriptions: OfTemplate = [description.clone()].into_iter().chain(others).collect();
        generations.put(key.into(), descriptions);
    }
}

impl Generations {
    /// The descriptions of a text template, which are young then.
    fn of_template(&mut self, key: &str) -> Option<OfTemplate> {
        if let Some(known) = self.young.get(key) {
            return Some(known.clone());
        }
        let (key, known) = self.old.remove_entry(key)?;
        self.put(key, known.clone());
        Some(known)
    }

    fn put(&mut self, key: Arc<str>, descriptions: OfTemplate) {
        let bytes = |key: &str, descriptions: &[Description]| {
            key.len() + descriptions.iter().map(Description::bytes).sum::<usize>()
        };
        self.young_bytes += bytes(&key, &descriptions);
        if let Some(before) = self.young.insert(key.clone(), descriptions) {
            self.young_bytes -= bytes(&key, &before);
        }
        self.old.remove(&key);
        if self.young_bytes > GENERATION_BYTES_MAX {
            self.old = std::mem::take(&mut self.young);
            self.young_bytes = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Statement;

    fn scanned(sql: &str) -> ScannedText {
        Statement::parse(sql).unwrap().remove(0).scanned().unwrap().clone()
    }

    fn parameter(oid: u32) -> ParameterType {
        ParameterType { oid }
    }

    fn description(scanned: &ScannedText, declared: &[Option<ParameterType>], parameter_type: u32) -> Description {
        let prepared = Prepared { parameter_types: vec![parameter(parameter_type)], schema: None };
        let holes = scanned.holes.iter().map(|hole| hole.content.clone()).collect();
        Description { holes, declared: declared.to_vec(), tables: Vec::new(), prepared }
    }

    #[test]
    fn descriptions_are_of_constants_and_declared_types() {
        let cache = DescriptionCache::default();
        let (seven, eight) = (scanned("select 7 + $1"), scanned("select 8 + $1"));
        let declared = [Some(parameter(23))];
        assert!(!cache.is_known("key", &seven));
        cache.keep("key", description(&seven, &[None], 20));
        cache.keep("key", description(&seven, &declared, 23));
        assert!(cache.is_known("key", &seven) && !cache.is_known("key", &eight) && !cache.is_known("other", &seven));
        let types = |scanned: &ScannedText, declared: &[Option<ParameterType>]| {
            cache.find("key", scanned, declared, |_| None).map(|prepared| prepared.parameter_types)
        };
        assert_eq!(types(&seven, &[None]), Some(vec![parameter(20)]));
        assert_eq!(types(&seven, &declared), Some(vec![parameter(23)]));
        assert_eq!(types(&eight, &declared), None);
        assert_eq!(types(&seven, &[]), None);
        // The newest ones are kept.
        for _ in 0..OF_TEMPLATE_MAX {
            cache.keep("key", description(&eight, &declared, 21));
        }
        assert_eq!(types(&seven, &[None]), Some(vec![parameter(20)]));
        for value in 0..OF_TEMPLATE_MAX {
            cache.keep("key", description(&scanned(&format!("select {value} + $1")), &declared, 21));
        }
        assert_eq!(types(&seven, &[None]), None);
    }

    #[test]
    fn those_that_are_used_stay() {
        let cache = DescriptionCache::default();
        let scanned = scanned("select $1");
        for n in 0..100_000 {
            cache.keep(&format!("key {n}"), description(&scanned, &[], 20));
            let used = cache.find("key 0", &scanned, &[], |_| None);
            assert!(used.is_some(), "after {n} others");
        }
        let generations = cache.generations.lock();
        assert!(generations.young_bytes <= GENERATION_BYTES_MAX);
        assert!(generations.young.len() + generations.old.len() < 50_000);
        drop(generations);
        assert!(cache.find("key 7", &scanned, &[], |_| None).is_none());
    }
}
