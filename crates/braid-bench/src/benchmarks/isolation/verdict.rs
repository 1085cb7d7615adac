//! The check of a history.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use adya::history::{Mop, OpType, ReadValue};
use adya::{Opts, Report, Valid, Workload, check};

use super::lists::{Storage, elements, read};
use super::recorder::Ended;
use super::transactions::Step;
use super::{Figure, Goal, History, Level};
use crate::BenchError;
use crate::drivers::wire_session::WireSession;

/// Time for the search in each part of the graph that has cycles.
const SEARCH_MAX: Duration = Duration::from_secs(60);

/// Anomalies of each kind that are shown.
const SHOWN_MAX: usize = 3;

/// Reads all lists in one transaction of the history, and compares them with what scans find.
pub(super) async fn read_all(history: &History, mut session: WireSession) -> Result<(), BenchError> {
    let steps: Vec<Step> = history.lists.keys().map(|key| Step::Read { key }).collect();
    let process = history.recorder.new_process();
    history.recorder.begins(process, &steps);
    session.run(&format!("begin isolation level {}", history.level.name())).await?;
    let mut lists = BTreeMap::new();
    for key in history.lists.keys() {
        let rows = session.first_column(&read(key, true)).await?;
        lists.insert(key, elements(rows.iter().map(String::as_str))?);
    }
    session.run("commit").await?;
    let ended = Ended::Committed(lists.values().cloned().collect());
    history.recorder.ended(process, &steps, &ended);
    for sharing in ["off", "global"] {
        session.run(&format!("set braid.sharing = '{sharing}'")).await?;
        let scanned = scanned(&session).await?;
        let looked_up = || lists.iter().filter(|(_, list)| !list.is_empty());
        if !looked_up().eq(scanned.iter()) {
            let differ = lists.keys().find(|key| scanned.get(key).map_or(&[][..], Vec::as_slice) != lists[*key]);
            let of = |key: &u64| format!("{:?} looked up, {:?} scanned", lists[key], scanned.get(key));
            let difference = format!("with sharing {sharing}, list {differ:?}: {}", differ.map(of).unwrap_or_default());
            return Err(BenchError::WrongAnswer { query: "reading all lists".to_owned(), difference });
        }
    }
    Ok(())
}

/// All lists with elements.
async fn scanned(session: &WireSession) -> Result<BTreeMap<u64, Vec<u64>>, BenchError> {
    let mut lists: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for storage in Storage::ALL {
        for row in session.text_rows(storage.all()).await? {
            let [key, list] = &row[..] else { return Err(BenchError::other(storage.all(), "two columns expected")) };
            let key = key.parse().map_err(|e| BenchError::other(storage.all(), e))?;
            let list = elements([list.as_str()])?;
            if let Some(twice) = lists.insert(key, list) {
                let difference = format!("a scan finds list {key} twice, first as {twice:?}");
                return Err(BenchError::WrongAnswer { query: storage.all().to_owned(), difference });
            }
        }
    }
    Ok(lists)
}

/// Checks a history, and counts what is in it.
///
/// # Errors
/// [`BenchError::WrongAnswer`] if its level forbids it.
pub(super) fn of(history: &History, clients: usize, kills: u64) -> Result<Vec<Figure>, BenchError> {
    let (recorded, level) = (history.recorder.history(), history.level);
    let report = checked(&recorded, level.model())?;
    if report.valid == Valid::False {
        show(level, &report);
        let difference = format!("the history of {clients} clients has {}", report.anomaly_types.join(", "));
        return Err(BenchError::WrongAnswer { query: level.name().to_owned(), difference });
    }
    let lost = lost_appends(&recorded);
    if !lost.is_empty() {
        let difference = format!("acknowledged appends that are lost: {lost:?}");
        return Err(BenchError::WrongAnswer { query: level.name().to_owned(), difference });
    }
    let named = |what: &str| format!("{}, {clients} clients: {what}", level.name());
    let ended = |kind: OpType| recorded.ops.iter().filter(|operation| operation.kind == kind).count() as f64;
    let committed = recorded.ops.iter().filter(|operation| operation.kind == OpType::Ok);
    let appends = committed.flat_map(|operation| &operation.value).filter(|step| matches!(step, Mop::Append { .. }));
    let rolled_back = history.recorder.rolled_back() as f64;
    let mut figures = vec![
        Figure::new(named("committed transactions"), ended(OpType::Ok), ""),
        Figure::new(named("appends of these"), appends.count() as f64, ""),
        Figure::new(named("aborted transactions"), ended(OpType::Fail) - rolled_back, ""),
        Figure::new(named("transactions in doubt"), ended(OpType::Info), ""),
        Figure::new(named("kills of the server"), kills as f64, ""),
        Figure::new(named("anomalies"), 0.0, "").with_goal(Goal::AtMost(0.0)),
    ];
    if level == Level::RepeatableRead {
        let cycles = checked(&recorded, Level::Serializable.model())?.anomalies.values().map(Vec::len).sum::<usize>();
        figures.push(Figure::new(named("cycles that serializability forbids"), cycles as f64, ""));
    }
    println!("{}, {} aborted, no anomaly", named(&format!("{} committed", figures[0].value)), figures[2].value);
    Ok(figures)
}

fn checked(history: &adya::History, model: &str) -> Result<Report, BenchError> {
    let options = Opts { models: vec![model.to_owned()], timeout: SEARCH_MAX, ..Opts::default() };
    let report = check(history, Workload::ListAppend, &options);
    match report.valid {
        Valid::Unknown => Err(BenchError::other("checking a history", report.anomaly_types.join(", "))),
        Valid::True | Valid::False => Ok(report),
    }
}

fn show(level: Level, report: &Report) {
    for (kind, anomalies) in &report.anomalies {
        for anomaly in anomalies.iter().take(SHOWN_MAX) {
            println!("{}, {kind}:\n{}", level.name(), anomaly.explanation);
        }
    }
}

/// Elements of committed appends that the last transaction, which reads all lists, has not found.
fn lost_appends(history: &adya::History) -> Vec<String> {
    let is_read = |step: &Mop| match step {
        Mop::Read { value: ReadValue::List(list), .. } => list.clone(),
        _ => Vec::new(),
    };
    let last = history.ops.last().expect("the read of all lists");
    let found: HashSet<u32> = last.value.iter().flat_map(is_read).collect();
    let committed = history.ops.iter().filter(|operation| operation.kind == OpType::Ok);
    let appended = committed.flat_map(|operation| &operation.value).filter_map(|step| match step {
        Mop::Append { value, .. } => Some(*value),
        _ => None,
    });
    appended.filter(|element| !found.contains(element)).map(|element| history.show(element).to_string()).collect()
}
