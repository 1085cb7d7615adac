//! What tells the four policies apart, step by step. Chunks are 2 MB, so that a scan has one chunk ahead, as with the
//! paper's chunks; one read at a time.

use braid_base::ColumnId;

use super::rig::{MB, Rig, table};
use crate::scan_policy::ScanPolicy;

const CHUNK: u32 = 2 * MB;

#[test]
fn normal_reads_in_the_scans_own_order_and_evicts_the_least_recently_used() {
    let table = table(1, 10, &[CHUNK]);
    let mut rig = Rig::new(ScanPolicy::Normal, 3 * u64::from(CHUNK));
    let first = rig.scan(&table, 0..10, &[0]);
    rig.ask(first);
    rig.finish_all();
    assert_eq!(rig.log(), "+k0[0] +k1[0] s0<k0", "one chunk ahead of the one in processing");
    rig.go_on(first, 0);
    rig.finish_all();
    assert_eq!(rig.log(), "+k2[0] s0<k1", "k2 takes the last free place");
    rig.go_on(first, 1);
    rig.finish_all();
    assert_eq!(rig.log(), "-k0/0 +k3[0] s0<k2", "k0 was used longest ago");
    // Another scan starts at its own beginning, although k1 to k3 are in memory.
    let second = rig.scan(&table, 0..10, &[0]);
    rig.ask(second);
    rig.finish_all();
    assert_eq!(rig.log(), "-k1/0 +k0[0] s1<k0", "no room is left to read ahead without taking s0's next chunk");
}

#[test]
fn normal_serves_scans_round_robin() {
    let table = table(1, 10, &[CHUNK]);
    let mut rig = Rig::new(ScanPolicy::Normal, 10 * u64::from(CHUNK));
    let scans = [rig.scan(&table, 0..5, &[0]), rig.scan(&table, 5..10, &[0])];
    scans.iter().for_each(|scan| rig.ask(*scan));
    rig.finish_all();
    // Each waiting scan first, then each scan's read ahead.
    assert_eq!(rig.log(), "+k0[0] +k5[0] s0<k0 +k1[0] s1<k5 +k6[0]");
}

#[test]
fn attach_starts_where_the_scan_of_largest_overlap_is_and_goes_round() {
    // Column 1 is wide: a scan that shares only column 0 overlaps less, however many chunks it has.
    let table = table(1, 6, &[CHUNK, 3 * CHUNK]);
    let mut rig = Rig::new(ScanPolicy::Attach, 100 * u64::from(CHUNK));
    let narrow = rig.scan(&table, 0..6, &[0]);
    rig.ask(narrow);
    rig.finish_all();
    rig.go_on(narrow, 0);
    let wide = rig.scan(&table, 0..6, &[1]);
    for chunk in 0..4 {
        rig.ask(wide);
        rig.finish_all();
        if chunk < 3 {
            rig.consume(wide, chunk);
        }
    }
    rig.log();
    let both = rig.scan(&table, 0..6, &[0, 1]);
    rig.ask(both);
    rig.finish_all();
    for chunk in [3, 4, 5, 0, 1, 2] {
        assert_eq!(rig.held(both), Some(chunk));
        rig.go_on(both, chunk);
        rig.finish_all();
    }
    assert!(rig.log().ends_with("s2 ends"));
}

#[test]
fn elevator_reads_for_everybody_from_one_cursor_and_waits_for_the_slowest() {
    let table = table(1, 6, &[CHUNK, CHUNK]);
    let mut rig = Rig::new(ScanPolicy::Elevator, 4 * u64::from(CHUNK));
    let slow = rig.scan(&table, 0..6, &[0]);
    let fast = rig.scan(&table, 0..6, &[0, 1]);
    rig.ask(slow);
    rig.ask(fast);
    rig.finish_all();
    // The union of both scans' columns, though `slow` triggered the first read before `fast` asked; `fast` has one
    // chunk to process and one ahead, and there the buffer is full.
    assert_eq!(rig.log(), "+k0[0] +k0[1] s0<k0 +k1[0] s1<k0 +k1[1]");
    rig.go_on(fast, 0);
    rig.finish_all();
    // k0/1 is free to go, k0/0 still in use; k1 belongs to both. One place is not enough for k2 of both columns.
    assert_eq!(rig.log(), "s1<k1");
    rig.go_on(slow, 0);
    rig.finish_all();
    assert_eq!(rig.log(), "-k0/1 -k0/0 +k2[0] s0<k1 +k2[1]");
    // A newcomer does not turn the cursor back.
    let late = rig.scan(&table, 0..6, &[0]);
    rig.ask(late);
    assert_eq!(rig.log(), "s2<k1", "but takes what is there");
}

#[test]
fn relevance_uses_what_is_there_and_prefers_what_few_others_want() {
    let table = table(1, 10, &[CHUNK]);
    let mut rig = Rig::new(ScanPolicy::Relevance, 10 * u64::from(CHUNK));
    let first = rig.scan(&table, 0..4, &[0]);
    rig.ask(first);
    rig.finish_all();
    rig.go_on(first, 0);
    rig.finish_all();
    rig.go_on(first, 1);
    rig.finish_all();
    assert_eq!(rig.log(), "+k0[0] +k1[0] s0<k0 +k2[0] s0<k1 +k3[0] s0<k2");
    // k0..k3 are in memory; s0 still wants k3. A scan of everything begins with what only it wants.
    let second = rig.scan(&table, 0..10, &[0]);
    rig.ask(second);
    rig.go_on(second, 0);
    rig.go_on(second, 1);
    assert_eq!(rig.log(), "s1<k0 s1<k1 s1<k2");
}

#[test]
fn relevance_serves_the_short_query_first_and_loads_what_helps_most() {
    let table = table(1, 20, &[CHUNK]);
    let mut rig = Rig::new(ScanPolicy::Relevance, 6 * u64::from(CHUNK));
    let long = rig.scan(&table, 0..20, &[0]);
    let short = rig.scan(&table, 10..13, &[0]);
    rig.ask(long);
    assert_eq!(rig.log(), "+k10[0]", "the chunk that two queries want");
    rig.ask(short);
    rig.finish();
    assert_eq!(rig.log(), "+k11[0] s0<k10 s1<k10");
    rig.finish_all();
    assert_eq!(rig.log(), "", "both have one to process and one ahead");
    rig.go_on(short, 10);
    assert_eq!(rig.log(), "+k12[0] s1<k11");
}

#[test]
fn relevance_evicts_columns_that_nobody_wants_first_and_the_least_useful_chunk_next() {
    let table = table(1, 10, &[CHUNK, CHUNK]);
    let mut rig = Rig::with_loads(ScanPolicy::Relevance, 4 * u64::from(CHUNK), 2);
    let gone = rig.scan(&table, 0..2, &[0, 1]);
    rig.ask(gone);
    rig.finish_all();
    assert_eq!(rig.log(), "+k0[0] +k0[1] +k1[0] +k1[1] s0<k0");
    rig.consume(gone, 0);
    // The only scan left wants column 0: column 1 is what goes, although column 0 was loaded before.
    let scan = rig.scan(&table, 0..10, &[0]);
    rig.unregister(gone);
    rig.ask(scan);
    rig.finish_all();
    assert_eq!(rig.log(), "s1<k0");
    rig.go_on(scan, 0);
    rig.finish_all();
    assert_eq!(rig.log(), "-k1/1 +k2[0] s1<k1");
}

#[test]
fn columns_are_read_smallest_first_so_that_narrow_scans_go_on_early() {
    let table = table(1, 4, &[8 * MB, MB, 4 * MB]);
    let mut rig = Rig::new(ScanPolicy::Relevance, u64::from(100 * MB));
    let narrow = rig.scan(&table, 0..4, &[1]);
    let wide = rig.scan(&table, 0..4, &[0, 1, 2]);
    rig.ask(wide);
    rig.ask(narrow);
    assert_eq!(rig.log(), "+k0[1]");
    rig.finish();
    assert_eq!(rig.log(), "+k0[2] s0<k0");
    rig.finish();
    rig.finish();
    assert!(rig.log().starts_with("+k0[0] "), "the wide scan's turn comes with the last column");
}

#[test]
fn scans_in_order_get_their_chunks_in_order_under_every_policy() {
    for policy in ScanPolicy::ALL {
        let table = table(1, 12, &[CHUNK]);
        let mut rig = Rig::with_loads(policy, 5 * u64::from(CHUNK), 3);
        let other = rig.scan(&table, 6..12, &[0]);
        rig.ask(other);
        rig.finish_all();
        let scan = rig.demand(&table, (2..10).collect(), &[0], true);
        rig.log();
        rig.ask(scan);
        rig.finish_all();
        for chunk in 2..10 {
            while rig.held(scan).is_none() {
                let other_chunk = rig.held(other).expect("one of the scans makes progress");
                rig.go_on(other, other_chunk);
                rig.finish_all();
            }
            assert_eq!(rig.held(scan), Some(chunk), "{policy}");
            rig.go_on(scan, chunk);
            rig.finish_all();
        }
        assert!(rig.log().contains("s1 ends"), "{policy}");
    }
}

#[test]
fn a_change_of_policy_reaches_running_scans() {
    let table = table(1, 8, &[CHUNK]);
    let mut rig = Rig::new(ScanPolicy::Normal, 8 * u64::from(CHUNK));
    let ahead = rig.scan(&table, 4..8, &[0]);
    rig.ask(ahead);
    rig.finish_all();
    let scan = rig.scan(&table, 0..8, &[0]);
    rig.ask(scan);
    assert_eq!(rig.log(), "+k4[0] +k5[0] s0<k4 +k0[0]");
    // k4 and k5 are ready, but not next in line under `normal`. Under `relevance` the waiting scan gets one at once.
    rig.set_policy(ScanPolicy::Relevance);
    assert_eq!(rig.log(), "s1<k4");
    let columns = rig.buffer.books().scans().map(|(_, scan)| scan.columns.clone()).collect::<Vec<_>>();
    assert_eq!(columns, [vec![ColumnId(0)], vec![ColumnId(0)]]);
}
