//! Statements that control their session: SET, RESET, DISCARD, SHOW, BEGIN, COMMIT, ROLLBACK, SAVEPOINT.
//!
//! | module | contents |
//! |---|---|
//! | [`setting_change`] | one setting to a new value or to its default |
//! | [`transaction_block`] | BEGIN, SET TRANSACTION, COMMIT, ROLLBACK, savepoints |
//! | [`set`] | SET, RESET, DISCARD |
//! | [`show`] | SHOW |

mod set;
mod setting_change;
mod show;
mod transaction_block;

pub(crate) use set::{discard, reset, set};
pub(crate) use setting_change::assign;
pub(crate) use show::{show, show_schema};
pub(crate) use transaction_block::{
    Chain, begin, commit, release_savepoint, roll_back, roll_back_to_savepoint, savepoint,
};
