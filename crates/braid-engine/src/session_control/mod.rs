//! Statements that control their session: SET, RESET, DISCARD, SHOW, BEGIN, COMMIT, ROLLBACK, SAVEPOINT.
//!
//! | module | contents |
//! |---|---|
//! | [`block_warnings`] | warnings of BEGIN in a block, COMMIT without one, SET LOCAL outside |
//! | [`notify`] | LISTEN, UNLISTEN, NOTIFY |
//! | [`transaction_block`] | BEGIN, SET TRANSACTION, COMMIT, ROLLBACK, savepoints |
//! | [`discard`] | DISCARD, DEALLOCATE |
//! | [`set`] | SET, RESET |
//! | [`show`] | SHOW |

mod block_warnings;
mod discard;
mod notify;
mod set;
mod show;
mod transaction_block;

pub(crate) use block_warnings::warn_of_block;
pub(crate) use discard::{deallocate, discard};
pub(crate) use notify::{listen, notify, unlisten};
pub(crate) use set::{reset, set};
pub(crate) use show::{show, show_schema};
pub(crate) use transaction_block::{
    Chain, begin, commit, release_savepoint, roll_back, roll_back_to_savepoint, savepoint, set_deferrable,
};
