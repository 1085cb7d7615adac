//! The rows that transactions have locked or are about to delete, and who waits for whom.
//!
//! Rules:
//! 1. A transaction locks rows before it deletes them, all rows of a statement at once, and holds them until its write set is gone. It may
//!    also lock rows that it only reads ([`RowLockMode`]).
//! 2. A lock is taken under the commit lock, together with the check that the newest state still has the rows. So no commit comes
//!    between, and a lock holds what was checked.
//! 3. A lock is of the row's number in the newest state: it follows a row that a commit writes again ([`crate::moved_rows`]).
//! 4. A transaction waits for one other at a time, until that one ends. The one whose wait would close a circle fails instead.
//!
//! Locks are bitmaps by chunk, so that a transaction may lock any number of rows.
//!
//! Keys are locked beside rows ([`PendingKeys`]), each for one of three purposes ([`KeyLock`]). A transaction waits for another one that holds
//! the same key for a purpose that excludes its own.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use braid_base::{TableId, TimeSum};
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::key_index::{AddedKeys, KeyId, KeyRun, PendingKeys};
use crate::moved_rows::MovedChunks;
use crate::{ChunkMeta, DeletedRows, RowDeletes, RowId, StoreError};

/// What became of a request for locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Locked {
    /// The rows are locked, and as the statement has seen them.
    AsSeen,
    /// Others have changed some of them since; none is locked.
    Changed,
}

/// What a row is locked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowLockMode {
    /// It shall stay as it is. Any number of transactions may lock it so.
    Shared,
    /// It shall stay as it is for others, and be the transaction's to change.
    Exclusive,
    /// It is about to be deleted, or replaced.
    Deletion,
}

impl RowLockMode {
    const ALL: [Self; 3] = [Self::Shared, Self::Exclusive, Self::Deletion];
    /// Those of rows that the transaction is not about to delete.
    const KEPT: [Self; 2] = [Self::Shared, Self::Exclusive];

    /// The modes in which no other transaction may hold the row.
    fn excluded(self) -> &'static [Self] {
        match self {
            Self::Shared => &[Self::Exclusive, Self::Deletion],
            Self::Exclusive | Self::Deletion => &Self::ALL,
        }
    }
}

/// What a key is locked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyLock {
    /// A row with the key is about to be added. One transaction at a time does that.
    Added,
    /// Rows are about to be added that refer to a row with the key. Any number of transactions may do that, while none removes it.
    Referenced,
    /// The row with the key is about to go. Its row lock excludes others that do the same.
    Removed,
}

/// The locks of all transactions.
#[derive(Debug, Default)]
pub(crate) struct RowLocks {
    state: Mutex<State>,
    /// Circles of waits may go through these.
    others: OnceLock<Arc<dyn OtherWaits>>,
}

#[derive(Debug, Default)]
struct State {
    next_owner: u64,
    owners: BTreeMap<u64, Owner>,
    /// Which transaction waits for which.
    waits: HashMap<u64, u64>,
}

impl State {
    /// The locked rows of a table, of all transactions.
    fn locked_rows(&mut self, table: TableId) -> impl Iterator<Item = &mut RowDeletes> {
        let of_all = self.owners.values_mut().flat_map(|owner| &mut owner.rows);
        of_all.filter_map(move |rows| rows.get_mut(&table))
    }

    /// Whether a transaction waits for itself: through others, and through the sessions that sessions wait for otherwise.
    fn waits_for_itself(&self, number: u64, blocking: &dyn Fn(i32) -> Vec<i32>) -> bool {
        let session_of = |number: u64| self.owners.get(&number).and_then(|owner| owner.waits.lock().session);
        let (mut seen, mut next) = (HashSet::new(), vec![Waiting::Transaction(self.waits[&number])]);
        while let Some(at) = next.pop() {
            if !seen.insert(at) {
                continue;
            }
            match at {
                Waiting::Transaction(at) if at == number => return true,
                Waiting::Transaction(at) => {
                    next.extend(self.waits.get(&at).copied().map(Waiting::Transaction));
                    next.extend(session_of(at).map(Waiting::Session));
                }
                Waiting::Session(session) => {
                    next.extend(blocking(session).into_iter().map(Waiting::Session));
                    let own = self.owners.keys().copied().filter(|number| session_of(*number) == Some(session));
                    next.extend(own.map(Waiting::Transaction));
                }
            }
        }
        false
    }
}

/// Who waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Waiting {
    Transaction(u64),
    Session(i32),
}

/// Waits of sessions for others that are not for locks of transactions.
pub trait OtherWaits: fmt::Debug + Send + Sync {
    /// The sessions that a session waits for.
    fn blocking(&self, session: i32) -> Vec<i32>;
    /// Lets a session that waits only for its turn go before others; false if it does not.
    fn let_through(&self, session: i32) -> bool;
}

#[derive(Debug)]
struct Owner {
    /// By mode.
    rows: [BTreeMap<TableId, RowDeletes>; RowLockMode::ALL.len()],
    added: PendingKeys,
    referenced: PendingKeys,
    removed: PendingKeys,
    waits: Arc<Mutex<LockWaits>>,
    /// Closed at its end.
    _ended: watch::Sender<()>,
    end: watch::Receiver<()>,
}

impl Owner {
    fn new(waits: Arc<Mutex<LockWaits>>) -> Self {
        let (ended, end) = watch::channel(());
        let (added, referenced, removed) = Default::default();
        Self { rows: Default::default(), added, referenced, removed, waits, _ended: ended, end }
    }

    fn rows(&self, mode: RowLockMode, table: TableId) -> Option<&RowDeletes> {
        self.rows[mode as usize].get(&table)
    }

    /// What it holds that excludes a lock of another transaction.
    fn excluding(&self, mode: RowLockMode, table: TableId) -> impl Iterator<Item = &RowDeletes> {
        mode.excluded().iter().filter_map(move |held| self.rows(*held, table))
    }

    fn lock(&mut self, mode: RowLockMode, table: TableId, rows: &RowDeletes) {
        let held = self.rows[mode as usize].entry(table).or_default();
        for (chunk, rows) in rows.iter().filter(|(_, rows)| !rows.is_empty()) {
            let united = held.get(chunk).map_or_else(|| rows.clone(), |held| held.union(rows));
            held.insert(*chunk, united);
        }
    }

    fn keys(&self, purpose: KeyLock) -> &PendingKeys {
        match purpose {
            KeyLock::Added => &self.added,
            KeyLock::Referenced => &self.referenced,
            KeyLock::Removed => &self.removed,
        }
    }

    fn keys_mut(&mut self, purpose: KeyLock) -> &mut PendingKeys {
        match purpose {
            KeyLock::Added => &mut self.added,
            KeyLock::Referenced => &mut self.referenced,
            KeyLock::Removed => &mut self.removed,
        }
    }
}

impl KeyLock {
    /// The purpose for which no other transaction may hold the key.
    fn excluded(self) -> Self {
        match self {
            Self::Added => Self::Added,
            Self::Referenced => Self::Removed,
            Self::Removed => Self::Referenced,
        }
    }
}

/// A transaction that holds locks, until it is dropped.
#[derive(Debug)]
pub(crate) struct LockOwner {
    locks: Arc<RowLocks>,
    number: u64,
    /// How the statement that runs waits.
    waits: Arc<Mutex<LockWaits>>,
}

/// How a transaction waits for locks of others.
#[derive(Clone, Debug, Default)]
pub struct LockWaits {
    /// The longest wait.
    pub timeout: Option<Duration>,
    /// The time of all waits, which is added here.
    pub total: TimeSum,
    /// Who waits, for those who ask.
    pub session: Option<i32>,
}

/// A transaction that has locked something, as others may know it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockingTransaction {
    /// Its number among those that lock.
    pub number: u64,
    /// Who it belongs to.
    pub session: Option<i32>,
    /// The number of the transaction that it waits for.
    pub waits_for: Option<u64>,
}

/// The transaction that holds a lock.
#[derive(Debug)]
pub(crate) struct Holder {
    number: u64,
    end: watch::Receiver<()>,
}

impl RowLocks {
    /// Circles of waits may go through these, too. They are asked while no lock can be taken, and must not wait for one.
    pub(crate) fn set_other_waits(&self, others: Arc<dyn OtherWaits>) {
        let _ = self.others.set(others);
    }

    /// A transaction without locks.
    pub(crate) fn owner(self: &Arc<Self>) -> LockOwner {
        let mut state = self.state.lock();
        let number = state.next_owner;
        state.next_owner += 1;
        let waits = Arc::default();
        state.owners.insert(number, Owner::new(Arc::clone(&waits)));
        LockOwner { locks: Arc::clone(self), number, waits }
    }

    /// The transactions that have locked something, or wait to.
    pub(crate) fn transactions(&self) -> Vec<LockingTransaction> {
        let state = self.state.lock();
        let shown = state.owners.iter().map(|(number, owner)| LockingTransaction {
            number: *number,
            session: owner.waits.lock().session,
            waits_for: state.waits.get(number).copied(),
        });
        shown.collect()
    }

    /// The sessions that wait, and for whom.
    pub(crate) fn session_waits(&self) -> Vec<(i32, i32)> {
        let state = self.state.lock();
        let session_of = |number: &u64| state.owners.get(number).and_then(|owner| owner.waits.lock().session);
        state.waits.iter().filter_map(|(waiting, holder)| session_of(waiting).zip(session_of(holder))).collect()
    }

    /// The locks follow the rows that a commit has written again, and the chunks say where these are.
    pub(crate) fn follow(&self, moved: &[MovedChunks]) {
        if moved.is_empty() {
            return;
        }
        let mut state = self.state.lock();
        for moved in moved {
            moved.announce();
            state.locked_rows(moved.table()).for_each(|rows| moved.follow(rows));
        }
    }

    /// All is as it was before these commits, the last of which comes first.
    pub(crate) fn go_back(&self, moved: &[MovedChunks]) {
        if moved.is_empty() {
            return;
        }
        let mut state = self.state.lock();
        for moved in moved.iter().rev() {
            moved.retract();
            state.locked_rows(moved.table()).for_each(|rows| moved.go_back(rows));
        }
    }
}

impl LockOwner {
    /// Locks rows, all or none.
    ///
    /// # Errors
    /// The transaction that holds one of them.
    pub(crate) fn try_lock(&self, mode: RowLockMode, table: TableId, rows: &RowDeletes) -> Result<(), Holder> {
        let mut state = self.locks.state.lock();
        for (number, other) in state.owners.iter().filter(|(number, _)| **number != self.number) {
            if other.excluding(mode, table).any(|held| overlap(held, rows)) {
                return Err(Holder { number: *number, end: other.end.clone() });
            }
        }
        state.owners.get_mut(&self.number).expect("an owner is there until it is dropped").lock(mode, table, rows);
        Ok(())
    }

    /// Locks those of these rows that no other transaction holds, and returns them.
    pub(crate) fn lock_free(&self, mode: RowLockMode, table: TableId, rows: &RowDeletes) -> RowDeletes {
        let mut state = self.locks.state.lock();
        let mut free = rows.clone();
        for (_, other) in state.owners.iter().filter(|(number, _)| **number != self.number) {
            for held in other.excluding(mode, table) {
                for (chunk, rows) in &mut free {
                    if let Some(held) = held.get(chunk).filter(|held| held.first_common(rows).is_some()) {
                        *rows = rows.difference(held);
                    }
                }
            }
        }
        state.owners.get_mut(&self.number).expect("an owner is there until it is dropped").lock(mode, table, &free);
        free
    }

    /// The rows that it has locked and is not about to delete.
    pub(crate) fn kept_rows(&self) -> Vec<(TableId, RowDeletes)> {
        let state = self.locks.state.lock();
        let own = &state.owners[&self.number];
        RowLockMode::KEPT.into_iter().flat_map(|mode| own.rows[mode as usize].clone()).collect()
    }

    /// Whether it has locked rows that it is not about to delete.
    pub(crate) fn keeps_rows(&self) -> bool {
        let state = self.locks.state.lock();
        let own = &state.owners[&self.number];
        RowLockMode::KEPT.into_iter().any(|mode| !own.rows[mode as usize].is_empty())
    }

    /// The number of rows of a table that others hold so that this one could not lock them; one that several hold may count several times.
    pub(crate) fn count_held(&self, mode: RowLockMode, table: TableId) -> u64 {
        let state = self.locks.state.lock();
        let others = state.owners.iter().filter(|(number, _)| **number != self.number);
        let held = others.flat_map(|(_, other)| other.excluding(mode, table));
        held.flat_map(RowDeletes::values).map(|rows| u64::from(rows.count())).sum()
    }

    /// The other transaction that is about to delete a row of a chunk, wherever that is now.
    pub(crate) fn deleter_of(&self, table: TableId, chunk: &ChunkMeta, row: u32) -> Option<Holder> {
        let state = self.locks.state.lock();
        let mut others = state.owners.iter().filter(|(number, _)| **number != self.number);
        let holds = |owner: &Owner| {
            let Some(rows) = owner.rows(RowLockMode::Deletion, table) else { return false };
            let is_held = |place: RowId| rows.get(&place.chunk).is_some_and(|rows| rows.contains(place.row));
            chunk.successor.any_place(RowId { chunk: chunk.id, row }, is_held)
        };
        others.find(|(_, owner)| holds(owner)).map(|(number, owner)| Holder { number: *number, end: owner.end.clone() })
    }

    /// Whether it may have one of these keys pending already.
    pub(crate) fn has_pending(&self, key: &KeyId, keys: &KeyRun) -> bool {
        self.locks.state.lock().owners[&self.number].added.may_overlap(key, keys)
    }

    /// Locks keys, all or none. With too many keys it locks the whole key.
    ///
    /// # Errors
    /// A transaction that excludes it.
    pub(crate) fn try_lock_keys(&self, purpose: KeyLock, key: &KeyId, keys: &Arc<KeyRun>) -> Result<AddedKeys, Holder> {
        let mut state = self.locks.state.lock();
        let is_whole = state.owners[&self.number].keys(purpose).is_too_many(key, keys);
        for (number, other) in state.owners.iter().filter(|(number, _)| **number != self.number) {
            let held = other.keys(purpose.excluded());
            if held.overlap(key, keys) || (is_whole && held.has_any(key)) {
                return Err(Holder { number: *number, end: other.end.clone() });
            }
        }
        let own = state.owners.get_mut(&self.number).expect("an owner is there until it is dropped");
        match is_whole {
            true => Ok(own.keys_mut(purpose).take_whole(key)),
            false => Ok(own.keys_mut(purpose).add(key, keys)),
        }
    }

    /// Locks all keys of a kind, whether there are rows with them or not.
    ///
    /// # Errors
    /// A transaction that excludes it.
    pub(crate) fn try_lock_all_keys(&self, purpose: KeyLock, key: &KeyId) -> Result<(), Holder> {
        let mut state = self.locks.state.lock();
        let mut others = state.owners.iter().filter(|(number, _)| **number != self.number);
        if let Some((number, other)) = others.find(|(_, other)| other.keys(purpose.excluded()).has_any(key)) {
            return Err(Holder { number: *number, end: other.end.clone() });
        }
        let own = state.owners.get_mut(&self.number).expect("an owner is there until it is dropped");
        own.keys_mut(purpose).take_whole(key);
        Ok(())
    }

    /// Gives back the keys that were locked last for a purpose.
    pub(crate) fn unlock_keys(&self, purpose: KeyLock, key: &KeyId, added: AddedKeys) {
        let mut state = self.locks.state.lock();
        let own = state.owners.get_mut(&self.number).expect("an owner is there until it is dropped");
        own.keys_mut(purpose).take_back(key, added);
    }

    /// Waits so from now on.
    pub(crate) fn set_waits(&self, waits: LockWaits) {
        *self.waits.lock() = waits;
    }

    /// Waits until another transaction has ended.
    ///
    /// # Errors
    /// [`StoreError::Deadlock`] if that one waits for this one, itself or through others, and [`StoreError::LockTimeout`].
    pub(crate) async fn wait_for(&self, mut holder: Holder) -> Result<(), StoreError> {
        let _wait = self.begin_wait(holder.number)?;
        let LockWaits { timeout, total, .. } = self.waits.lock().clone();
        let _measured = total.measure();
        // The sender goes with the transaction.
        let ended = async { while holder.end.changed().await.is_ok() {} };
        match timeout {
            Some(timeout) => tokio::time::timeout(timeout, ended).await.map_err(|_| StoreError::LockTimeout),
            None => {
                ended.await;
                Ok(())
            }
        }
    }

    fn begin_wait(&self, holder: u64) -> Result<Wait<'_>, StoreError> {
        let mut state = self.locks.state.lock();
        // Others who begin to wait otherwise see it from now on.
        state.waits.insert(self.number, holder);
        let wait = Wait(self);
        let others = self.locks.others.get();
        let blocking = |session: i32| {
            let of_others = others.map(|others| {
                // Others may wait for it: it does not wait for its turn behind them.
                others.let_through(session);
                others.blocking(session)
            });
            of_others.unwrap_or_default()
        };
        if state.waits_for_itself(self.number, &blocking) {
            drop((state, wait));
            return Err(StoreError::Deadlock);
        }
        drop(state);
        Ok(wait)
    }
}

impl Drop for LockOwner {
    fn drop(&mut self) {
        self.locks.state.lock().owners.remove(&self.number);
    }
}

/// A wait, until it is dropped.
struct Wait<'a>(&'a LockOwner);

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        self.0.locks.state.lock().waits.remove(&self.0.number);
    }
}

fn overlap(held: &RowDeletes, rows: &RowDeletes) -> bool {
    rows.iter().any(|(chunk, rows)| held.get(chunk).is_some_and(|held| DeletedRows::first_common(held, rows).is_some()))
}

#[cfg(test)]
mod tests {
    use arrow::array::{ArrayRef, Int64Array};
    use braid_base::{ChunkId, ColumnId};

    use super::*;
    use crate::ColumnType;
    use crate::key_index::{KeyNulls, KeyShape};

    fn rows(rows: &[(u32, u32)]) -> RowDeletes {
        let mut deletes = RowDeletes::new();
        for (chunk, row) in rows {
            deletes.entry(ChunkId(*chunk)).or_insert_with(|| DeletedRows::none(100)).insert(*row);
        }
        deletes
    }

    fn chunk(id: u32, row_count: u32) -> Arc<ChunkMeta> {
        let (deleted, file, segments, keys, successor) = Default::default();
        Arc::new(ChunkMeta { id: ChunkId(id), row_count, deleted, file, segments, keys, successor })
    }

    const TABLE: TableId = TableId(7);
    const DELETION: RowLockMode = RowLockMode::Deletion;

    #[test]
    fn rows_are_locked_by_one_transaction_until_it_ends() {
        let locks = Arc::new(RowLocks::default());
        let (one, other) = (locks.owner(), locks.owner());
        one.try_lock(DELETION, TABLE, &rows(&[(1, 5), (2, 6)])).unwrap();
        other.try_lock(DELETION, TABLE, &rows(&[(1, 6), (3, 5)])).unwrap();
        one.try_lock(DELETION, TABLE, &rows(&[(1, 5), (1, 7)])).unwrap();
        assert_eq!(other.try_lock(DELETION, TABLE, &rows(&[(9, 1), (1, 7)])).unwrap_err().number, one.number);
        other.try_lock(DELETION, TableId(8), &rows(&[(1, 7)])).unwrap();
        drop(one);
        other.try_lock(DELETION, TABLE, &rows(&[(1, 7)])).unwrap();
    }

    #[test]
    fn locks_in_modes_that_exclude_each_other_are_those_of_one_transaction() {
        use RowLockMode::{Deletion, Exclusive, Shared};
        for (held, wanted, is_free) in [
            (Shared, Shared, true),
            (Shared, Exclusive, false),
            (Shared, Deletion, false),
            (Exclusive, Shared, false),
            (Exclusive, Exclusive, false),
            (Deletion, Shared, false),
            (Deletion, Exclusive, false),
        ] {
            let locks = Arc::new(RowLocks::default());
            let (one, other) = (locks.owner(), locks.owner());
            one.try_lock(held, TABLE, &rows(&[(1, 5)])).unwrap();
            assert_eq!(other.try_lock(wanted, TABLE, &rows(&[(1, 5)])).is_ok(), is_free, "{held:?} {wanted:?}");
            one.try_lock(wanted, TABLE, &rows(&[(1, 6)])).unwrap();
            let about_to_delete = one.locks.state.lock().owners[&one.number].rows(Deletion, TABLE).is_some();
            assert_eq!(other.deleter_of(TABLE, &chunk(1, 100), 5).is_some(), held == Deletion);
            assert_eq!(about_to_delete, [held, wanted].contains(&Deletion));
        }
    }

    #[test]
    fn locks_follow_rows_that_are_written_again_and_come_back() {
        let locks = Arc::new(RowLocks::default());
        let (one, other) = (locks.owner(), locks.owner());
        let (first, second, merged) = (chunk(1, 100), chunk(2, 100), chunk(9, 200));
        one.try_lock(DELETION, TABLE, &rows(&[(1, 5), (2, 6), (3, 7)])).unwrap();
        let into = [(merged.id, merged.row_count, merged.successor.clone())].into_iter();
        let moved = [MovedChunks::new(TABLE, [&first, &second].into_iter().map(|chunk| chunk.gone()), into)];
        locks.follow(&moved);
        let at = |row: u32| RowDeletes::from([(ChunkId(9), DeletedRows::of(200, [row]))]);
        assert!(other.try_lock(DELETION, TABLE, &at(5)).is_err());
        assert!(other.try_lock(DELETION, TABLE, &at(106)).is_err());
        other.try_lock(DELETION, TABLE, &at(6)).unwrap();
        assert!(other.try_lock(DELETION, TABLE, &rows(&[(3, 7)])).is_err());
        // Who has seen the row where it was finds who deletes it.
        assert!(other.deleter_of(TABLE, &first, 5).is_some() && other.deleter_of(TABLE, &second, 6).is_some());
        assert!(other.deleter_of(TABLE, &first, 6).is_none() && one.deleter_of(TABLE, &first, 6).is_some());
        // The commit is given up.
        locks.go_back(&moved);
        assert!(other.deleter_of(TABLE, &merged, 5).is_none());
        for (locked, row) in [(&one, (1, 5)), (&one, (2, 6)), (&one, (3, 7)), (&other, (1, 6))] {
            let third = locks.owner();
            let holder = third.try_lock(DELETION, TABLE, &rows(&[row])).unwrap_err();
            assert_eq!(holder.number, locked.number, "{row:?}");
        }
        assert!(other.deleter_of(TABLE, &first, 5).is_some() && one.deleter_of(TABLE, &first, 6).is_some());
    }

    #[test]
    fn free_rows_are_locked_and_others_left_out() {
        let locks = Arc::new(RowLocks::default());
        let (one, two, third) = (locks.owner(), locks.owner(), locks.owner());
        one.try_lock(RowLockMode::Exclusive, TABLE, &rows(&[(1, 5), (2, 6)])).unwrap();
        two.try_lock(RowLockMode::Shared, TABLE, &rows(&[(1, 7)])).unwrap();
        let wanted = rows(&[(1, 4), (1, 5), (1, 7), (2, 6), (3, 1)]);
        let held = |rows: &RowDeletes| -> Vec<(u32, u32)> {
            rows.iter().flat_map(|(chunk, rows)| rows.iter().map(|row| (chunk.0, row))).collect()
        };
        assert_eq!(held(&third.lock_free(RowLockMode::Shared, TABLE, &wanted)), [(1, 4), (1, 7), (3, 1)]);
        assert_eq!(held(&third.lock_free(RowLockMode::Exclusive, TABLE, &wanted)), [(1, 4), (3, 1)]);
        assert!(one.try_lock(DELETION, TABLE, &rows(&[(1, 4)])).is_err(), "it holds what it has locked");
        assert!(third.kept_rows().iter().flat_map(|(_, rows)| held(rows)).eq([(1, 4), (1, 7), (3, 1), (1, 4), (3, 1)]));
        assert!(third.kept_rows().iter().all(|(_, rows)| !rows.contains_key(&ChunkId(2))));
        one.try_lock(RowLockMode::Shared, TABLE, &rows(&[(1, 7)])).unwrap();
    }

    #[test]
    fn keys_are_referred_to_by_many_and_removed_by_none_of_them() {
        let shape = KeyShape::new(vec![(ColumnId(0), ColumnType::BigInt)], [None].into_iter(), KeyNulls::Distinct);
        let keys = |values: &[i64]| {
            let column: ArrayRef = Arc::new(Int64Array::from(values.to_vec()));
            Arc::new(KeyRun::new(&shape, &[column]).unwrap())
        };
        let key: KeyId = (TABLE, vec![ColumnId(0)], KeyNulls::Distinct);
        let locks = Arc::new(RowLocks::default());
        let (one, other, third) = (locks.owner(), locks.owner(), locks.owner());
        one.try_lock_keys(KeyLock::Referenced, &key, &keys(&[1, 2])).unwrap();
        other.try_lock_keys(KeyLock::Referenced, &key, &keys(&[2, 3])).unwrap();
        assert!(third.try_lock_keys(KeyLock::Removed, &key, &keys(&[1])).is_err());
        assert!(other.try_lock_keys(KeyLock::Removed, &key, &keys(&[1])).is_err(), "its own locks do not help");
        other.try_lock_keys(KeyLock::Removed, &key, &keys(&[3])).unwrap();
        third.try_lock_keys(KeyLock::Added, &key, &keys(&[1])).unwrap();
        assert!(one.try_lock_keys(KeyLock::Referenced, &key, &keys(&[3])).is_err());
        assert!(third.try_lock_all_keys(KeyLock::Removed, &key).is_err());
        third.try_lock_all_keys(KeyLock::Referenced, &(TableId(8), vec![ColumnId(0)], KeyNulls::Distinct)).unwrap();
        drop((one, other));
        third.try_lock_all_keys(KeyLock::Removed, &key).unwrap();
        let fourth = locks.owner();
        assert!(fourth.try_lock_keys(KeyLock::Referenced, &key, &keys(&[9])).is_err());
        drop(third);
        fourth.try_lock_keys(KeyLock::Referenced, &key, &keys(&[9])).unwrap();
    }

    #[tokio::test]
    async fn a_wait_ends_with_the_holder_and_circles_are_refused() {
        let locks = Arc::new(RowLocks::default());
        let owners: Vec<LockOwner> = (0..3).map(|_| locks.owner()).collect();
        for (at, owner) in owners.iter().enumerate() {
            owner.try_lock(DELETION, TABLE, &rows(&[(at as u32, 0)])).unwrap();
        }
        let wants =
            |owner: usize, chunk: u32| owners[owner].try_lock(DELETION, TABLE, &rows(&[(chunk, 0)])).unwrap_err();
        let first = owners[0].wait_for(wants(0, 1));
        let second = owners[1].wait_for(wants(1, 2));
        tokio::pin!(first, second);
        for wait in [&mut first, &mut second] {
            assert!(tokio::time::timeout(Duration::from_millis(5), wait).await.is_err(), "it waits");
        }
        assert!(matches!(owners[2].wait_for(wants(2, 0)).await, Err(StoreError::Deadlock)));
        // A wait ends with its time.
        let (timeout, total) = (Some(Duration::from_millis(1)), TimeSum::default());
        owners[2].set_waits(LockWaits { timeout, total: total.clone(), session: Some(7) });
        let fourth = locks.owner();
        fourth.try_lock(DELETION, TABLE, &rows(&[(4, 0)])).unwrap();
        assert!(matches!(owners[2].wait_for(wants(2, 4)).await, Err(StoreError::LockTimeout)));
        assert!(total.take() >= Duration::from_millis(1), "a wait is counted");
        let waiting = owners[2].locks.transactions();
        let third = waiting.iter().find(|transaction| transaction.number == owners[2].number).unwrap();
        assert_eq!((third.session, third.waits_for), (Some(7), None), "it waits no more");
        drop(fourth);
        // An abandoned wait is none.
        let holder = owners[0].try_lock(DELETION, TABLE, &rows(&[(2, 0)])).unwrap_err();
        assert_eq!(holder.number, owners[2].number);
        let fourth = locks.owner();
        fourth.try_lock(DELETION, TABLE, &rows(&[(4, 0)])).unwrap();
        let waits = fourth.wait_for(fourth.try_lock(DELETION, TABLE, &rows(&[(0, 0)])).unwrap_err());
        drop(waits);
        let fifth = locks.owner();
        let holder = fifth.try_lock(DELETION, TABLE, &rows(&[(4, 0)])).unwrap_err();
        drop(fourth);
        fifth.wait_for(holder).await.unwrap();
    }
}
