//! The paper's own numbers: formula (1), and tables 2 and 3 in virtual time.

use std::collections::BTreeMap;

use braid_base::{ColumnId, Random, SeededRandom};

use super::rig::{Rig, table};
use crate::scan_policy::ScanPolicy;
use crate::simulation::paper::{Experiment, Speed};
use crate::simulation::{SimulationReport, simulate};

/// Formula (1): the probability that at least one of `needed` chunks of a table of `total` is among `buffered` random
/// ones.
fn reuse_probability(total: usize, needed: usize, buffered: usize) -> f64 {
    1.0 - (0..buffered).map(|i| (total - needed - i) as f64 / (total - i) as f64).product::<f64>()
}

#[test]
fn formula_1_predicts_how_often_relevance_finds_a_useful_chunk_and_normal_how_rarely() {
    const TOTAL: usize = 100;
    const ROUNDS: u64 = 600;
    for (needed, buffered) in [(10, 10), (5, 20), (30, 5)] {
        let mut random = SeededRandom::new(7);
        let mut found = BTreeMap::from([("normal", 0u64), ("relevance", 0)]);
        for _ in 0..ROUNDS {
            for policy in [ScanPolicy::Normal, ScanPolicy::Relevance] {
                let table = table(1, TOTAL, &[1 << 21]);
                let mut rig = Rig::new(policy, (buffered as u64) << 21);
                rig.is_checked = false;
                // A buffer filled with random chunks, by a scan in that order.
                let fill = random_chunks(&mut random, TOTAL, buffered);
                for chunk in fill {
                    let scan = rig.scan(&table, chunk..chunk + 1, &[0]);
                    rig.ask(scan);
                    rig.finish_all();
                    rig.consume(scan, chunk as u32);
                    rig.unregister(scan);
                }
                rig.log();
                let wanted = random_chunks(&mut random, TOTAL, needed);
                let scan = rig.demand(&table, wanted, &[0], false);
                rig.ask(scan);
                *found.get_mut(policy.name()).unwrap() += u64::from(rig.log().contains('<'));
            }
        }
        // Normal can use one page only: C_B / C_T.
        let predictions =
            [("relevance", reuse_probability(TOTAL, needed, buffered)), ("normal", buffered as f64 / TOTAL as f64)];
        for (policy, predicted) in predictions {
            let share = found[policy] as f64 / ROUNDS as f64;
            let deviation = (predicted * (1.0 - predicted) / ROUNDS as f64).sqrt();
            assert!((share - predicted).abs() < 4.0 * deviation, "{policy}: {share} instead of {predicted}");
        }
    }
    // Section 3: "over 50 % for a 10 % scan with a buffer pool holding 10 % of the relation".
    assert!(reuse_probability(100, 10, 10) > 0.5);
}

fn random_chunks(random: &mut SeededRandom, total: usize, count: usize) -> Vec<usize> {
    let mut chunks: Vec<usize> = (0..total).collect();
    for at in 0..count {
        chunks.swap(at, at + random.below((total - at) as u64) as usize);
    }
    chunks.truncate(count);
    chunks.sort_unstable();
    chunks
}

/// One policy's row of table 2 or 3.
#[derive(Clone, Copy, Debug, Default)]
struct Row {
    stream_s: f64,
    normalized_latency: f64,
    total_s: f64,
    cpu_use: f64,
    reads: f64,
}

struct Results {
    normal: Row,
    attach: Row,
    elevator: Row,
    relevance: Row,
}

/// The experiment under each policy, averaged over the seeds.
fn results(experiment: &Experiment, seeds: impl Iterator<Item = u64> + Clone) -> Results {
    let mut alone = BTreeMap::new();
    for (speed, letter) in [(Speed::Fast, 'F'), (Speed::Slow, 'S')] {
        for percent in [1, 10, 50, 100] {
            alone.insert(format!("{letter}-{percent:02}"), experiment.alone_us(speed, percent));
        }
    }
    let count = seeds.clone().count() as f64;
    let row = |policy: ScanPolicy| {
        let mut mean = Row::default();
        for seed in seeds.clone() {
            let report: SimulationReport =
                simulate(&experiment.options(policy), &experiment.paper_streams(seed)).unwrap();
            mean.stream_s += report.stream_seconds_mean() / count;
            mean.normalized_latency += report.normalized_latency_mean(|name| alone[name]) / count;
            mean.total_s += report.total_us as f64 / 1e6 / count;
            mean.cpu_use += report.cpu_use(2) / count;
            mean.reads += report.buffer.reads as f64 / count;
        }
        println!("{policy:?}: {mean:.2?}");
        mean
    };
    let [normal, attach, elevator, relevance] = ScanPolicy::ALL.map(row);
    Results { normal, attach, elevator, relevance }
}

/// The ranking of the policies that both tables show in every line of their system statistics.
fn assert_ranking(results: &Results) {
    let Results { normal, attach, elevator, relevance } = results;
    assert!(relevance.stream_s < attach.stream_s && attach.stream_s < normal.stream_s);
    assert!(relevance.stream_s < elevator.stream_s);
    assert!(relevance.normalized_latency < attach.normalized_latency);
    assert!(attach.normalized_latency < normal.normalized_latency);
    assert!(normal.normalized_latency < elevator.normalized_latency);
    assert!(relevance.total_s < attach.total_s && attach.total_s < normal.total_s);
    assert!(normal.cpu_use < attach.cpu_use && attach.cpu_use < relevance.cpu_use);
    assert!(elevator.reads < relevance.reads && relevance.reads < attach.reads && attach.reads < normal.reads);
}

/// Asserts how many times better relevance is than normal and attach, in stream time and in normalised latency.
fn assert_gains(results: &Results, over_normal: (f64, f64), over_attach: (f64, f64)) {
    let relevance = &results.relevance;
    for (name, other, (stream, latency)) in
        [("normal", &results.normal, over_normal), ("attach", &results.attach, over_attach)]
    {
        let gains = (other.stream_s / relevance.stream_s, other.normalized_latency / relevance.normalized_latency);
        println!("over {name}: {gains:.2?}");
        assert!(gains.0 >= stream && gains.1 >= latency, "over {name}: {gains:.2?}");
    }
}

/// The workloads that are averaged. The paper shows one run of random queries; how far apart the policies are varies with
/// it, over seeds 1 to 30 like this (smallest, mean, largest):
///
/// | | stream time | normalised latency |
/// |---|---|---|
/// | over normal | 1.78, 2.33, 3.13 | 2.47, 3.11, 3.81 |
/// | over attach | 1.17, 1.46, 1.91 | 1.58, 1.96, 2.37 |
///
/// Under relevance the processors are 93 % busy (the paper: 93.94 %), so its stream time has nowhere to go. That the gain
/// over normal is below the paper's 2.85 comes from `normal`, which the virtual disk serves faster than the real one.
const WORKLOADS: std::ops::Range<u64> = 1..11;

#[test]
fn table_2_rows_over_ten_workloads() {
    let results = results(&Experiment::rows(), WORKLOADS);
    assert_ranking(&results);
    // The paper: 2.85 and 3.28 over normal, 1.62 and 1.90 over attach; 1842 reads for 4186.
    assert_gains(&results, (2.3, 3.1), (1.4, 1.85));
    assert!(results.relevance.reads <= 0.45 * results.normal.reads);
    assert!(results.relevance.cpu_use >= 0.9);
}

#[test]
fn table_3_columns_over_four_workloads() {
    let results = results(&Experiment::columns(), 1..5);
    assert_ranking(&results);
    // The paper: 2.02 and 2.38 over normal, 1.28 and 1.61 over attach.
    assert_gains(&results, (1.7, 2.6), (1.35, 1.9));
}

#[test]
fn table_4_gains_shrink_with_the_columns_in_common() {
    // Section 6.3.1: 16 streams of 4 scans of 40 % of a table of ten columns of 8 bytes. One query type (ABC), two that
    // have nothing in common (ABC, DEF), three that overlap in part (ABC, BCD, CDE).
    let reads = |types: &[[u16; 3]], policy| {
        let experiment = Experiment::overlap();
        let streams = experiment.overlap_streams(5, types);
        simulate(&experiment.options(policy), &streams).unwrap().buffer.reads as f64
    };
    let (abc, def, bcd, cde) = ([0, 1, 2], [3, 4, 5], [1, 2, 3], [2, 3, 4]);
    let gain = |types: &[[u16; 3]]| reads(types, ScanPolicy::Normal) / reads(types, ScanPolicy::Relevance);
    let (one, two, overlapping) = (gain(&[abc]), gain(&[abc, def]), gain(&[abc, bcd, cde]));
    println!("reads of normal over reads of relevance: {one:.2}, {two:.2}, {overlapping:.2}");
    // The paper: 5094 / 1560 = 3.3, 6215 / 3254 = 1.9, 5791 / 2918 = 2.0.
    assert!(one > two && one > overlapping);
    assert!(one >= 2.5 && two >= 1.5 && overlapping >= 1.5);
}

#[test]
fn simulated_scans_deliver_each_chunk_once_whatever_the_consumers() {
    let experiment = Experiment::rows();
    for policy in ScanPolicy::ALL {
        let mut query = experiment.query(Speed::Slow, 10, 5);
        query.consumers = 3;
        let streams = [crate::simulation::Stream { start_us: 0, queries: vec![query.clone(), query.clone()] }];
        let report = simulate(&experiment.options(policy), &streams).unwrap();
        assert_eq!(report.buffer.chunks_delivered, 2 * query.chunks.len() as u64, "{policy}");
        assert_eq!(report.buffer.segments_loaded, query.chunks.len() as u64, "{policy}: 10 % of it stays in memory");
        assert_eq!(query.columns, [ColumnId(0)]);
        // Two processors and three consumers: the second run needs no read and takes half its processor time.
        let second = &report.queries[1];
        let expected_us = query.chunk_cpu_us * query.chunks.len() as u64 / 2;
        assert!((second.end_us - second.start_us).abs_diff(expected_us) < query.chunk_cpu_us, "{policy}");
    }
}
