//! What holds a lane for a pass, and reports its end.

use std::sync::Arc;

use braid_share::{Ending, Outcome, PassNumber};

use super::dispatcher::Dispatcher;
use super::pass_log::PassSize;

/// A pass that the scheduler holds a lane for. Dropping it says that the pass has failed.
pub(super) struct LaneHold {
    pub dispatcher: Arc<Dispatcher>,
    pub pass: PassNumber,
    /// The most memory that the pass held, in bytes, if known.
    pub memory_bytes: Option<u64>,
    /// What else is known of it, for the log.
    pub size: PassSize,
    ending: Option<Ending>,
}

impl LaneHold {
    pub fn new(dispatcher: Arc<Dispatcher>, pass: PassNumber) -> Self {
        Self { dispatcher, pass, memory_bytes: None, size: PassSize::default(), ending: None }
    }

    /// The pass ends so.
    pub fn end(mut self, ending: Ending) {
        self.ending = Some(ending);
    }
}

impl Drop for LaneHold {
    fn drop(&mut self) {
        let ending = self.ending.unwrap_or(Ending::Failed);
        let outcome = Outcome { ending, memory_bytes: self.memory_bytes, executed: None };
        self.dispatcher.finished(self.pass, outcome, self.size);
    }
}
