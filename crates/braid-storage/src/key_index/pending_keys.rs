//! Keys that a transaction has locked for one purpose: above all those of rows that it is about to add. Other transactions whose purpose that
//! excludes wait for its end.
//!
//! Keys of few rows are in a set. Keys of many stay in the runs that they came in. A transaction with more than
//! [`BYTES_MAX`] of them has the whole key of the table: then it holds no keys, and others wait for it whatever they add.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use braid_base::{ColumnId, TableId};

use super::key_def::KeyNulls;
use super::key_run::KeyRun;

/// Bytes of keys of one transaction and key from which on it has the whole key.
const BYTES_MAX: usize = 256 << 20;

/// Keys of a run that is kept as such.
const RUN_KEYS_MIN: usize = 1024;

/// A key of a table.
pub(crate) type KeyId = (TableId, Vec<ColumnId>, KeyNulls);

/// The pending keys of one transaction.
#[derive(Debug, Default)]
pub(crate) struct PendingKeys {
    of: BTreeMap<KeyId, Pending>,
}

#[derive(Debug, Default)]
struct Pending {
    few: HashSet<Box<[u8]>>,
    runs: Vec<Arc<KeyRun>>,
    bytes: usize,
    is_whole: bool,
}

/// What was added to pending keys, to be taken back.
#[derive(Debug, Default)]
pub(crate) struct AddedKeys {
    few: Vec<Box<[u8]>>,
    has_run: bool,
    bytes: usize,
}

impl PendingKeys {
    /// Whether one of these keys may be among them.
    pub fn overlap(&self, key: &KeyId, keys: &KeyRun) -> bool {
        self.of.get(key).is_some_and(|pending| pending.is_whole || keys.keys().any(|key| pending.has(key)))
    }

    /// The same without a false no, for who compares the keys with rows anyhow: many keys are not sought one by one in many runs.
    pub fn may_overlap(&self, key: &KeyId, keys: &KeyRun) -> bool {
        let has_runs = self.of.get(key).is_some_and(|pending| !pending.runs.is_empty());
        (has_runs && keys.len() >= RUN_KEYS_MIN) || self.overlap(key, keys)
    }

    /// Whether some keys of a table are among them.
    pub fn has_any(&self, key: &KeyId) -> bool {
        self.of.get(key).is_some_and(|pending| pending.is_whole || !pending.few.is_empty() || !pending.runs.is_empty())
    }

    /// Whether they would be too many with these.
    pub fn is_too_many(&self, key: &KeyId, keys: &KeyRun) -> bool {
        let bytes = self.of.get(key).map_or(0, |pending| pending.bytes);
        bytes + keys.memory_bytes() > BYTES_MAX
    }

    /// Adds keys.
    pub fn add(&mut self, key: &KeyId, keys: &Arc<KeyRun>) -> AddedKeys {
        let mut added = AddedKeys::default();
        if keys.len() == 0 {
            return added;
        }
        let pending = self.of.entry(key.clone()).or_default();
        if pending.is_whole {
            return added;
        }
        added.bytes = keys.memory_bytes();
        pending.bytes += added.bytes;
        if keys.len() >= RUN_KEYS_MIN {
            pending.runs.push(Arc::clone(keys));
            added.has_run = true;
        } else {
            for key in keys.keys().filter(|key| !pending.few.contains(*key)).map(Box::<[u8]>::from).collect::<Vec<_>>()
            {
                pending.few.insert(key.clone());
                added.few.push(key);
            }
        }
        added
    }

    /// Has the whole key instead of single ones, until the end.
    pub fn take_whole(&mut self, key: &KeyId) -> AddedKeys {
        self.of.insert(key.clone(), Pending { is_whole: true, ..Pending::default() });
        AddedKeys::default()
    }

    /// Takes back what was added last.
    pub fn take_back(&mut self, key: &KeyId, added: AddedKeys) {
        let Some(pending) = self.of.get_mut(key) else { return };
        for key in &added.few {
            pending.few.remove(key);
        }
        pending.bytes -= added.bytes.min(pending.bytes);
        if added.has_run {
            pending.runs.pop();
        }
    }
}

impl Pending {
    fn has(&self, key: &[u8]) -> bool {
        self.few.contains(key) || self.runs.iter().any(|run| run.has(key))
    }
}
