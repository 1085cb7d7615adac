//! The history: the begin and the end of each transaction, in the order in which the clients saw them.

use adya::History;
use adya::history::{Interner, Mop, Op, OpType, ReadValue, Scalar};
use parking_lot::Mutex;

use super::transactions::Step;

/// How a transaction ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// It is committed, and has read these lists.
    Committed(Vec<Vec<u64>>),
    /// It has changed nothing.
    Aborted,
    /// The connection was lost while it committed.
    Unknown,
}

/// A client's part of the history. A client whose transaction ended in doubt goes on as another process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Process(i64);

#[derive(Default)]
struct Recorded {
    operations: Vec<Op>,
    interner: Interner,
    process_count: i64,
    /// Appends that a transaction rolled back by itself.
    rolled_back: u64,
}

impl Recorded {
    fn push(&mut self, process: Process, kind: OpType, value: Vec<Mop>) {
        let index = self.operations.len() as u64;
        self.operations.push(Op { index, kind, process: Some(process.0), value, time: None });
    }

    fn new_process(&mut self) -> Process {
        self.process_count += 1;
        Process(self.process_count)
    }

    /// The steps that are kept, with what they read if it is known.
    fn value(&mut self, steps: &[Step], reads: Option<&[Vec<u64>]>) -> Vec<Mop> {
        let mut reads = reads.map(<[_]>::iter);
        let mut number = |number: u64| self.interner.intern(Scalar::Int(number as i64));
        let mut value = Vec::with_capacity(steps.len());
        for step in steps {
            match *step {
                Step::Append { key, element } => {
                    value.push(Mop::Append { key: number(key), value: number(element) });
                }
                Step::AppendRolledBack { .. } => {}
                Step::Read { key } => {
                    let read = match &mut reads {
                        None => ReadValue::Nil,
                        Some(reads) => {
                            let list = reads.next().expect("each read has a list");
                            ReadValue::List(list.iter().map(|&element| number(element)).collect())
                        }
                    };
                    value.push(Mop::Read { key: number(key), value: read });
                }
            }
        }
        value
    }
}

/// Records it.
#[derive(Default)]
pub(super) struct Recorder {
    recorded: Mutex<Recorded>,
}

impl Recorder {
    /// Another process.
    pub(super) fn new_process(&self) -> Process {
        self.recorded.lock().new_process()
    }

    /// Before the first statement is sent. An append that will be rolled back is a transaction of its own that fails.
    pub(super) fn begins(&self, process: Process, steps: &[Step]) {
        let mut recorded = self.recorded.lock();
        for step in steps {
            if let Step::AppendRolledBack { key, element } = *step {
                let (own, append) = (recorded.new_process(), [Step::Append { key, element }]);
                recorded.rolled_back += 1;
                for kind in [OpType::Invoke, OpType::Fail] {
                    let value = recorded.value(&append, None);
                    recorded.push(own, kind, value);
                }
            }
        }
        let value = recorded.value(steps, None);
        recorded.push(process, OpType::Invoke, value);
    }

    /// After the last answer. Returns the process that goes on.
    pub(super) fn ended(&self, process: Process, steps: &[Step], ended: &Ended) -> Process {
        let mut recorded = self.recorded.lock();
        let (kind, reads) = match ended {
            Ended::Committed(reads) => (OpType::Ok, Some(reads.as_slice())),
            Ended::Aborted => (OpType::Fail, None),
            Ended::Unknown => (OpType::Info, None),
        };
        let value = recorded.value(steps, reads);
        recorded.push(process, kind, value);
        if kind == OpType::Info { recorded.new_process() } else { process }
    }

    /// Appends that a savepoint undid, or that were to be undone: each is a failed transaction of the history.
    pub(super) fn rolled_back(&self) -> u64 {
        self.recorded.lock().rolled_back
    }

    /// The history until now.
    pub(super) fn history(&self) -> History {
        let recorded = self.recorded.lock();
        History::from_ops(recorded.operations.clone(), recorded.interner.clone())
    }
}
