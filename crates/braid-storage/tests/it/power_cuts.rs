//! Random histories against a model, with the power cut at a random operation and a random loss of what was not synced,
//! twice over on one directory: the state before or after the commit that was hit, whole and fit for use.

use std::path::Path;

use braid_base::{Random, SeededRandom};
use braid_io::Fault;
use braid_storage::StoreError;
use braid_testing::cases;

use crate::crashes::{Action, State, describe, read_state};
use crate::test_table::{directory_in_memory, faulty_disk, open_on};

/// Power cuts of one history.
const LIVES: u64 = 2;

/// A commit takes about ten operations.
const OPERATIONS_MAX: u64 = 60;

const TABLES: [&str; 3] = ["a", "b", "c"];

/// Something that can be done to `state`. Rows are numbered on, so that a lost or doubled one shows.
fn action(random: &mut SeededRandom, state: &State, next_id: &mut i64) -> Action {
    let table = TABLES[random.below(TABLES.len() as u64) as usize];
    let count = if random.chance(1, 8) { random.below(3_000) } else { random.below(30) } as i64;
    let ids = (*next_id, *next_id + count + 1);
    *next_id = ids.1;
    if random.chance(1, 8) {
        return Action::Checkpoint;
    }
    match (state.contains_key(table), random.below(8)) {
        (true, 0) => Action::Drop(table),
        (true, 1) => Action::AddColumn(table),
        (true, 2) if random.chance(1, 2) => Action::DropColumn(table),
        (true, 4) if random.chance(1, 2) => Action::Compact(table),
        (true, 2 | 3) if !state[table].is_empty() => Action::Delete(table, 1 + random.below(4) as i64),
        (true, _) => Action::Insert(table, ids.0, ids.1),
        (false, 0..4) => Action::Create(table),
        (false, _) => Action::CreateAs(table, ids.0, ids.1),
    }
}

/// Works on the directory until the power goes; returns what may be found there: the state before and after.
async fn live(dir: &Path, random: &mut SeededRandom, found: State, next_id: &mut i64) -> (State, State) {
    let disk = faulty_disk(dir);
    disk.inject(Fault::Crash { after_operations: random.below(OPERATIONS_MAX) });
    let (mut before, mut after) = (found.clone(), found);
    if let Ok(store) = open_on(dir, &disk) {
        while !disk.is_crashed() {
            let action = action(random, &before, next_id);
            action.apply(&mut after);
            match action.run(&store).await {
                Ok(()) => before.clone_from(&after),
                Err(StoreError::Uncertain { .. }) => break,
                Err(error) => {
                    assert!(disk.is_crashed(), "{error}");
                    after.clone_from(&before);
                }
            }
        }
    }
    disk.cut_power(random.below(u64::MAX)).unwrap();
    (before, after)
}

async fn history(mut random: SeededRandom) {
    let temp = directory_in_memory();
    let (mut found, mut next_id) = (State::new(), 0);
    for life in 1..=LIVES {
        let (before, after) = live(temp.path(), &mut random, found, &mut next_id).await;
        let crash = format!("power cut {life}");
        found = read_state(temp.path(), &crash).await;
        assert!(found == before || found == after, "{crash}: {}", describe(&found, &before, &after));
    }
}

#[tokio::test]
async fn power_cuts_leave_the_state_before_or_after() {
    for case in cases!(1_000, nightly 10_000) {
        history(case.random()).await;
    }
}
