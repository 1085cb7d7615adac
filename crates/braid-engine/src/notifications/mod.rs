//! LISTEN and NOTIFY: what transactions tell the sessions that listen.
//!
//! 1. What a transaction tells, and which channels it begins or ceases to listen on, takes effect when it commits, and not at all
//!    otherwise. What it tells twice is told once.
//! 2. All listeners get the notifications of one transaction together, and those of all transactions in one order.
//! 3. A session takes its notifications between transactions. Until then they wait, within a bound for the whole server. A transaction
//!    that would exceed it fails when it notifies: space is reserved then, so that no commit fails for want of it.
//!
//! | module | contents |
//! |---|---|
//! | [`hub`] | the listeners of a server, and the space of what waits for them |
//! | [`session_notifications`] | what a session listens on, what it tells, and what waits for it |

mod hub;
mod session_notifications;

pub use hub::Notification;
pub(crate) use hub::NotificationHub;
pub(crate) use session_notifications::{ChannelChange, PendingMark, SessionNotifications};
