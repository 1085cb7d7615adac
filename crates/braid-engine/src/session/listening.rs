//! What a session is notified of, and the end of the transactions that notify.

use std::sync::Arc;

use super::Session;
use crate::{EngineError, Notification, Outcome};

impl Session {
    /// Takes what the session is notified of. Between transactions only: within one, nothing.
    pub fn take_notifications(&self) -> Vec<Arc<Notification>> {
        match self.context.is_between_transactions() {
            true => self.context.notifications().take(),
            false => Vec::new(),
        }
    }

    /// Waits until there is something to take; within a transaction for ever.
    pub async fn notified(&self) {
        match self.context.is_between_transactions() {
            true => self.context.notifications().arrival().await,
            false => std::future::pending().await,
        }
    }

    /// Ends the transaction of a statement that was executed by itself, neither in a block nor in a message. What its rows tell later is
    /// told with the next statement.
    pub(super) fn end_transaction_of(&self, outcome: &Result<Outcome, EngineError>) {
        if !self.context.is_between_transactions() {
            return;
        }
        self.context.end_transaction(outcome.is_ok());
    }
}
