//! `pg_locks`: the locks that sessions hold or wait for.

use braid_sql::Value;

use crate::named_row::{NamedRow, oid, text};
use crate::server_facts::{Lock, LockTarget, ServerFacts};

/// The oid of `pg_class`, which definitions of relations are in.
const PG_CLASS: u32 = 1259;

/// All locks. Rows and keys are locked by the thousand: a transaction is shown to lock their tables, and to wait for another one's end.
pub(super) fn locks(facts: &dyn ServerFacts) -> Vec<NamedRow> {
    let database = facts.database();
    let row = |Lock { target, session, mode, is_granted, is_fast }: Lock| {
        let (kind, mut row) = match target {
            LockTarget::Relation(id) => ("relation", vec![("database", oid(database.id)), ("relation", oid(id))]),
            LockTarget::Definition(id) => {
                let object = [("classid", oid(PG_CLASS)), ("objid", oid(id)), ("objsubid", Value::Int2(0))];
                ("object", [("database", oid(database.id))].into_iter().chain(object).collect())
            }
            LockTarget::Transaction(number) => ("transactionid", vec![("transactionid", oid(number))]),
            LockTarget::Advisory { upper, lower, is_pair } => {
                let form = Value::Int2(if is_pair { 2 } else { 1 });
                let numbers = [("classid", oid(upper)), ("objid", oid(lower)), ("objsubid", form)];
                ("advisory", [("database", oid(database.id))].into_iter().chain(numbers).collect())
            }
        };
        row.extend([
            ("locktype", text(kind)),
            ("virtualtransaction", text(&format!("{session}/0"))),
            ("pid", Value::Int4(session)),
            ("mode", text(mode)),
            ("granted", Value::Bool(is_granted)),
            ("fastpath", Value::Bool(is_fast)),
        ]);
        row
    };
    facts.locks().into_iter().map(row).collect()
}
