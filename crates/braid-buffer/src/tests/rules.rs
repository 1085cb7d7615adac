//! The numbered rules of `active_buffer_manager.rs`, one by one, and what happens at the edges: cancelled scans, failed
//! reads, new versions, scans without columns.

use braid_base::{ChunkId, ColumnId, TableId};

use super::rig::{MB, Rig, table};
use crate::active_buffer_manager::{ChunkTooLarge, PASSED_OVER_MAX};
use crate::scan_policy::ScanPolicy;
use crate::scan_state::{HOLD_US_MAX, IDLE_US_MAX};
use crate::simulation::table::SimulatedTable;
use crate::table_shape::ScanDemand;

const CHUNK: u32 = 2 * MB;

#[test]
fn rule_1_a_load_takes_all_its_room_at_once_or_none() {
    for policy in ScanPolicy::ALL {
        // Two scans of two columns each, room for three segments, two reads at a time: if each could take room for one
        // segment and wait for the other, both would wait for ever.
        let table = table(1, 4, &[CHUNK, CHUNK, CHUNK, CHUNK]);
        let mut rig = Rig::with_loads(policy, 3 * u64::from(CHUNK), 4);
        let scans = [rig.scan(&table, 0..1, &[0, 1]), rig.scan(&table, 1..2, &[2, 3])];
        scans.iter().for_each(|scan| rig.ask(*scan));
        assert_eq!(rig.log(), "+k0[0] +k0[1]", "{policy}");
        assert_eq!(rig.stats().used_bytes, 2 * u64::from(CHUNK));
        rig.finish_all();
        rig.go_on(scans[0], 0);
        rig.finish_all();
        let log = rig.log();
        assert!(log.contains("s0<k0") && log.contains("s1<k1") && log.contains("s0 ends"), "{policy}: {log}");
    }
}

#[test]
fn rule_2_what_is_in_use_and_what_is_being_completed_stays() {
    for policy in ScanPolicy::ALL {
        let table = table(1, 3, &[CHUNK, CHUNK]);
        let mut rig = Rig::new(policy, 3 * u64::from(CHUNK));
        let first = rig.scan(&table, 0..1, &[0]);
        rig.ask(first);
        rig.finish_all();
        rig.consume(first, 0);
        // k0/0 is in memory and unused; completing k0 for a scan of both columns must not evict it.
        let wide = rig.scan(&table, 0..1, &[0, 1]);
        rig.ask(wide);
        assert_eq!(rig.log(), "+k0[0] s0<k0 +k0[1]", "{policy}");
        let other = rig.scan(&table, 1..2, &[0, 1]);
        rig.ask(other);
        rig.finish_all();
        assert_eq!(rig.log(), "s1<k0", "{policy}: two segments are in use, one is free, two are needed");
        rig.consume(wide, 0);
        rig.finish_all();
        let log = rig.log();
        assert!(log.starts_with("-k0/") && log.ends_with("s2<k1"), "{policy}: {log}");
    }
}

#[test]
fn rule_3_reading_ahead_takes_nothing_from_a_scan_that_has_no_more() {
    for policy in ScanPolicy::ALL {
        // Room for three chunks: each scan processes one, one of them has one ahead, and that one is not taken from it.
        let table = table(1, 20, &[CHUNK]);
        let mut rig = Rig::with_loads(policy, 3 * u64::from(CHUNK), 4);
        let scans = [rig.scan(&table, 0..10, &[0]), rig.scan(&table, 10..20, &[0])];
        scans.iter().for_each(|scan| rig.ask(*scan));
        rig.finish_all();
        let evictions = rig.stats().evictions;
        for _ in 0..5 {
            rig.now_us += 1_000;
            rig.tick();
        }
        assert_eq!((rig.stats().evictions, rig.loads.len()), (evictions, 0), "{policy}: {}", rig.log());
        assert_eq!(rig.stats().segments_loaded, 3, "{policy}");
    }
}

#[test]
fn rule_4_a_scan_of_wide_rows_is_not_passed_over_for_ever() {
    for policy in ScanPolicy::ALL {
        // The wide scan needs the whole buffer; narrow scans of another table come and go without end.
        let (wide_table, narrow_table) = (table(1, 2, &[4 * CHUNK]), table(2, 1000, &[CHUNK]));
        let mut rig = Rig::with_loads(policy, 4 * u64::from(CHUNK), 2);
        let narrow = [rig.scan(&narrow_table, 0..500, &[0]), rig.scan(&narrow_table, 500..1000, &[0])];
        narrow.iter().for_each(|scan| rig.ask(*scan));
        rig.finish_all();
        let wide = rig.scan(&wide_table, 0..2, &[0]);
        rig.ask(wide);
        let mut steps = 0;
        while rig.held(wide).is_none() {
            assert!(steps < 8 * PASSED_OVER_MAX, "{policy}: its turn does not come");
            // Each narrow scan goes on as soon as it can.
            let turn = narrow[steps as usize % 2];
            if let Some(chunk) = rig.held(turn) {
                rig.go_on(turn, chunk);
            }
            rig.now_us += 100;
            rig.finish_all();
            steps += 1;
        }
    }
}

#[test]
fn rule_5_every_waiting_consumer_gets_the_chunk_in_the_step_in_which_it_comes() {
    for policy in [ScanPolicy::Elevator, ScanPolicy::Relevance] {
        let table = table(1, 5, &[CHUNK]);
        let mut rig = Rig::new(policy, u64::from(CHUNK));
        let scans: Vec<_> = (0..4).map(|_| rig.scan(&table, 0..5, &[0])).collect();
        scans.iter().for_each(|scan| rig.ask(*scan));
        rig.log();
        rig.finish();
        assert_eq!(rig.log(), "s0<k0 s1<k0 s2<k0 s3<k0", "{policy}");
        assert_eq!((rig.stats().segment_hits, rig.stats().bytes_saved), (3, 3 * u64::from(CHUNK)), "{policy}");
    }
}

#[test]
fn rule_6_a_chunk_larger_than_the_buffer_is_refused() {
    let table = SimulatedTable::new(TableId(1), 1, vec![(ChunkId(0), vec![10, 10]), (ChunkId(1), vec![10, 30])]);
    let mut rig = Rig::new(ScanPolicy::Relevance, 30);
    let mut register = |chunks: Vec<usize>, columns: Vec<ColumnId>| {
        rig.buffer.register(table.clone(), ScanDemand { chunks, columns, in_order: false }, 0).map(|_| ())
    };
    let both = vec![ColumnId(0), ColumnId(1)];
    assert_eq!(register(vec![0, 1], both.clone()), Err(ChunkTooLarge { needed_bytes: 40, capacity_bytes: 30 }));
    assert_eq!(register(vec![0], both), Ok(()), "only wanted chunks count");
    assert_eq!(register(vec![0, 1], vec![ColumnId(1)]), Ok(()), "only wanted columns count");
}

#[test]
fn rule_7_what_is_ready_for_a_scan_that_nobody_pulls_is_not_protected() {
    for policy in ScanPolicy::ALL {
        // The build side of a join runs; the probe side has been announced and has asked once, then waits for it.
        let (probe_table, build_table) = (table(1, 3, &[CHUNK]), table(2, 3, &[2 * CHUNK]));
        let mut rig = Rig::with_loads(policy, 2 * u64::from(CHUNK), 2);
        let probe = rig.scan(&probe_table, 0..3, &[0]);
        rig.ask(probe);
        rig.finish_all();
        rig.consume(probe, 0);
        let build = rig.scan(&build_table, 0..3, &[0]);
        rig.ask(build);
        rig.finish_all();
        if let Some(at) = rig.retry_at_us {
            assert_eq!(at, IDLE_US_MAX);
            rig.now_us = at;
            rig.tick();
            rig.finish_all();
        }
        let log = rig.log();
        assert!(log.ends_with("s1<k0"), "{policy}: {log}");
    }
}

#[test]
fn rule_7_segments_of_a_client_that_stopped_reading_are_lent() {
    for policy in ScanPolicy::ALL {
        let table = table(1, 4, &[CHUNK]);
        let mut rig = Rig::new(policy, u64::from(CHUNK));
        let stalled = rig.scan(&table, 0..2, &[0]);
        rig.ask(stalled);
        rig.finish_all();
        let running = rig.scan(&table, 2..4, &[0]);
        rig.ask(running);
        assert_eq!((rig.log().as_str(), rig.retry_at_us), ("+k0[0] s0<k0", Some(IDLE_US_MAX)), "{policy}: no room");
        rig.now_us = HOLD_US_MAX;
        rig.tick();
        rig.finish_all();
        assert_eq!(rig.log(), "+k2[0] s1<k2", "{policy}");
        let stats = rig.stats();
        assert_eq!((stats.used_bytes, stats.lent_bytes), (u64::from(CHUNK), u64::from(CHUNK)), "{policy}");
        // The client comes back: its chunk was good all the time, and goes on.
        rig.consume(running, 2);
        rig.go_on(stalled, 0);
        rig.finish_all();
        assert_eq!(rig.stats().lent_bytes, 0, "{policy}");
        assert!(rig.log().ends_with("s0<k1"), "{policy}");
    }
}

#[test]
fn rule_7_counts_lent_bytes_until_the_last_holder_lets_go() {
    let table = table(1, 4, &[CHUNK]);
    let mut rig = Rig::new(ScanPolicy::Relevance, u64::from(CHUNK));
    let holders = [rig.scan(&table, 0..1, &[0]), rig.scan(&table, 0..1, &[0])];
    holders.iter().for_each(|scan| rig.ask(*scan));
    rig.finish_all();
    let running = rig.scan(&table, 2..4, &[0]);
    rig.ask(running);
    rig.now_us = HOLD_US_MAX;
    rig.tick();
    rig.finish_all();
    let mut lent = vec![rig.stats().lent_bytes];
    for holder in holders {
        rig.consume(holder, 0);
        lent.push(rig.stats().lent_bytes);
    }
    assert_eq!(lent, [u64::from(CHUNK), u64::from(CHUNK), 0]);
}

#[test]
fn rule_7_lends_no_more_than_the_buffers_size() {
    let table = table(1, 8, &[CHUNK]);
    let mut rig = Rig::new(ScanPolicy::Relevance, u64::from(CHUNK));
    for chunk in 0..4 {
        let scan = rig.scan(&table, chunk..chunk + 1, &[0]);
        rig.ask(scan);
        rig.now_us += HOLD_US_MAX;
        rig.tick();
        rig.finish_all();
    }
    let stats = rig.stats();
    assert_eq!((stats.lent_bytes, stats.used_bytes, stats.waiting_scans), (u64::from(CHUNK), u64::from(CHUNK), 2));
}

#[test]
fn a_scan_without_columns_gets_all_its_chunks_without_a_read() {
    for policy in ScanPolicy::ALL {
        let table = table(1, 3, &[CHUNK]);
        let mut rig = Rig::new(policy, 1);
        let scan = rig.scan(&table, 0..3, &[]);
        rig.ask(scan);
        rig.go_on(scan, 0);
        rig.go_on(scan, 1);
        rig.go_on(scan, 2);
        assert_eq!(rig.log(), "s0<k0 s0<k1 s0<k2 s0 ends", "{policy}");
    }
}

#[test]
fn a_scan_without_chunks_ends_at_once() {
    let mut rig = Rig::new(ScanPolicy::Relevance, 1);
    let scan = rig.scan(&table(1, 3, &[CHUNK]), 0..0, &[0]);
    rig.ask(scan);
    assert_eq!(rig.log(), "s0 ends");
}

#[test]
fn a_cancelled_scan_leaves_nothing_behind() {
    for policy in ScanPolicy::ALL {
        let table = table(1, 8, &[CHUNK, 2 * CHUNK]);
        let mut rig = Rig::new(policy, 7 * u64::from(CHUNK));
        let scan = rig.scan(&table, 0..8, &[0, 1]);
        rig.ask(scan);
        rig.finish();
        // The read of k0/1 is under way, k0/0 is there; no scan wants either any more.
        rig.unregister(scan);
        assert_eq!(rig.log(), "+k0[0] +k0[1]", "{policy}");
        rig.finish();
        let stats = rig.stats();
        assert_eq!((stats.scans, stats.pinned_bytes, stats.loads_in_flight), (0, 0, 0), "{policy}");
        assert_eq!(stats.used_bytes, 3 * u64::from(CHUNK), "{policy}: what came is kept while there is room");
        // It can be used, and it can be evicted.
        let second = rig.scan(&table, 0..8, &[0, 1]);
        rig.ask(second);
        assert!(rig.log().contains("s1<k0"), "{policy}");
    }
}

#[test]
fn reads_that_have_not_been_issued_are_dropped_with_their_scan() {
    let table = table(1, 1, &[CHUNK, 2 * CHUNK, 3 * CHUNK]);
    let mut rig = Rig::new(ScanPolicy::Relevance, 6 * u64::from(CHUNK));
    let wide = rig.scan(&table, 0..1, &[0, 1, 2]);
    rig.ask(wide);
    let narrow = rig.scan(&table, 0..1, &[1]);
    rig.ask(narrow);
    rig.unregister(wide);
    rig.finish_all();
    // Column 0 was on its way, column 1 is wanted by the other scan, column 2 by no scan.
    assert_eq!(rig.log(), "+k0[0] +k0[1] s1<k0");
    assert_eq!(rig.stats().used_bytes, 3 * u64::from(CHUNK));
}

#[test]
fn a_chunk_still_held_after_its_scan_has_gone_stays_until_it_is_released() {
    let table = table(1, 2, &[CHUNK]);
    let mut rig = Rig::new(ScanPolicy::Relevance, u64::from(CHUNK));
    let gone = rig.scan(&table, 0..1, &[0]);
    rig.ask(gone);
    rig.finish_all();
    rig.unregister(gone);
    let next = rig.scan(&table, 1..2, &[0]);
    rig.ask(next);
    assert_eq!(rig.log(), "+k0[0] s0<k0", "no room yet");
    rig.consume(gone, 0);
    rig.finish_all();
    assert_eq!(rig.log(), "-k0/0 +k1[0] s1<k1");
}

#[test]
fn a_failed_read_fails_the_scans_that_want_the_segment_and_no_others() {
    for policy in ScanPolicy::ALL {
        let table = table(1, 4, &[CHUNK, CHUNK]);
        let mut rig = Rig::new(policy, 8 * u64::from(CHUNK));
        let wants_it = rig.scan(&table, 0..1, &[0, 1]);
        let other_column = rig.scan(&table, 0..1, &[0]);
        let other_chunk = rig.scan(&table, 2..4, &[0, 1]);
        rig.ask(wants_it);
        rig.ask(other_column);
        rig.ask(other_chunk);
        // Whatever is read first, the read of k0/1 fails.
        let mut failed = false;
        while let Some(load) = rig.loads.front() {
            let is_bad = load.chunk == 0 && load.segments[0].0 == ColumnId(1);
            failed |= is_bad;
            rig.end_load(if is_bad { &[1] } else { &[] });
            if failed {
                break;
            }
        }
        let log = rig.log();
        assert!(log.contains("s0 fails at 1") && !log.contains("s1 fails") && !log.contains("s2 fails"), "{log}");
        rig.finish_all();
        assert_eq!((rig.stats().load_failures, rig.stats().scans), (1, 2), "{policy}");
        // Nothing is remembered of the failure: the next scan reads the segment again.
        let again = rig.scan(&table, 0..1, &[1]);
        rig.ask(again);
        rig.finish_all();
        assert!(rig.log().ends_with("s3<k0"), "{policy}");
    }
}

#[test]
fn a_chunk_given_back_is_delivered_again() {
    for in_order in [false, true] {
        let table = table(1, 3, &[CHUNK]);
        let mut rig = Rig::new(ScanPolicy::Relevance, 3 * u64::from(CHUNK));
        let scan = rig.demand(&table, vec![0, 1, 2], &[0], in_order);
        rig.ask(scan);
        rig.finish_all();
        rig.give_back(scan, 0);
        rig.log();
        rig.ask(scan);
        assert_eq!(rig.log(), "s0<k0");
        // Given back while another consumer waits: it goes to that one.
        rig.ask(scan);
        rig.ask(scan);
        rig.ask(scan);
        rig.finish_all();
        rig.log();
        rig.give_back(scan, 1);
        assert_eq!(rig.log(), "", "the waiting consumer had been told that nothing is left");
        rig.ask(scan);
        assert_eq!(rig.log(), "s0<k1");
    }
}

#[test]
fn versions_of_a_table_share_the_chunks_they_have_in_common() {
    let chunks = |ids: &[u32]| ids.iter().map(|id| (ChunkId(*id), vec![CHUNK])).collect::<Vec<_>>();
    let old = SimulatedTable::new(TableId(1), 1, chunks(&[0, 1, 5]));
    // An INSERT replaced the last chunk; a later one added two.
    let new = SimulatedTable::new(TableId(1), 2, chunks(&[0, 1, 6]));
    let newest = SimulatedTable::new(TableId(1), 3, chunks(&[0, 1, 6, 7, 9]));
    let mut rig = Rig::new(ScanPolicy::Normal, 100 * u64::from(CHUNK));
    for (version, expected) in [(&new, "+k0[0] +k1[0] +k6[0]"), (&old, "+k5[0]"), (&newest, "+k7[0] +k9[0]")] {
        let scan = rig.scan(version, 0..crate::table_shape::TableShape::chunk_count(version), &[0]);
        let mut reads = Vec::new();
        for _ in 0..10 {
            rig.ask(scan);
            rig.finish_all();
            reads.extend(rig.log().split(' ').filter(|entry| entry.starts_with('+')).map(str::to_owned));
        }
        assert_eq!(reads.join(" "), expected);
        rig.unregister(scan);
    }
}

#[test]
fn forgotten_chunks_do_not_pile_up() {
    let mut rig = Rig::new(ScanPolicy::Relevance, u64::from(CHUNK));
    for sequence in 0..1000 {
        let version = SimulatedTable::new(TableId(1), sequence, vec![(ChunkId(sequence as u32), vec![CHUNK])]);
        let scan = rig.scan(&version, 0..1, &[0]);
        rig.ask(scan);
        rig.finish_all();
        rig.consume(scan, sequence as u32);
        rig.unregister(scan);
    }
    assert!(rig.buffer.books().tables[0].chunks.len() <= 128);
    assert_eq!(rig.buffer.books().tables.len(), 1);
}
