//! What all rules make of the queries of TPC-H: no cross products, and no condition above a join that could be below it.

use std::sync::Arc;

use braid_sql::expression::{Expression, Node};
use braid_sql::pg_catalog::TypeId;
use braid_sql::relation::{ColumnId, ColumnSet, Columns, JoinKind, Query, Relation};
use braid_sql::tables::{TableColumn, TableEntry, Tables};
use braid_sql::testing::FixedSession;
use braid_sql::{SqlError, SqlType};

use super::bound_to;
use super::plans::check_file;
use crate::rewriting::renumbering::each_relation;
use crate::rewriting::static_rows::has_at_most_one_row;
use crate::rewriting::{read_columns, rewrite};

/// The tables with their columns: `bigint` without a type, `c` for char(n), `v` for varchar(n), `m` for numeric(15,2), `i` for integer, `d`
/// for date.
const TABLES: &[(&str, &str)] = &[
    ("region", "r_regionkey r_name:c25 r_comment:v152"),
    ("nation", "n_nationkey n_name:c25 n_regionkey n_comment:v152"),
    ("supplier", "s_suppkey s_name:c25 s_address:v40 s_nationkey s_phone:c15 s_acctbal:m s_comment:v101"),
    (
        "part",
        "p_partkey p_name:v55 p_mfgr:c25 p_brand:c10 p_type:v25 p_size:i p_container:c10 p_retailprice:m p_comment:v23",
    ),
    ("partsupp", "ps_partkey ps_suppkey ps_availqty:i ps_supplycost:m ps_comment:v199"),
    (
        "customer",
        "c_custkey c_name:v25 c_address:v40 c_nationkey c_phone:c15 c_acctbal:m c_mktsegment:c10 c_comment:v117",
    ),
    (
        "orders",
        "o_orderkey o_custkey o_orderstatus:c1 o_totalprice:m o_orderdate:d o_orderpriority:c15 o_clerk:c15 \
         o_shippriority:i o_comment:v79",
    ),
    (
        "lineitem",
        "l_orderkey l_partkey l_suppkey l_linenumber:i l_quantity:m l_extendedprice:m l_discount:m l_tax:m \
         l_returnflag:c1 l_linestatus:c1 l_shipdate:d l_commitdate:d l_receiptdate:d l_shipinstruct:c25 l_shipmode:c10 \
         l_comment:v44",
    ),
];

#[derive(Debug)]
struct TpchTables;

impl Tables for TpchTables {
    fn table(&self, _schema: Option<&str>, name: &str) -> Result<Option<Arc<TableEntry>>, SqlError> {
        let at = TABLES.iter().position(|(own, _)| *own == name);
        Ok(at.map(|at| {
            let columns = TABLES[at].1.split_whitespace().map(column);
            Arc::new(TableEntry {
                id: at as u64,
                schema: "public".to_owned(),
                name: name.to_owned(),
                columns: columns.collect(),
                primary_key: Vec::new(),
            })
        }))
    }
}

fn column(text: &str) -> TableColumn {
    let (name, sql_type) = text.split_once(':').unwrap_or((text, "b"));
    let (kind, length) = sql_type.split_at(1);
    let sql_type = match kind {
        "b" => SqlType::of(TypeId::INT8),
        "i" => SqlType::of(TypeId::INT4),
        "d" => SqlType::of(TypeId::DATE),
        "m" => SqlType::numeric(15, 2),
        "c" => SqlType::with_length(TypeId::BPCHAR, length.parse().unwrap()),
        "v" => SqlType::with_length(TypeId::VARCHAR, length.parse().unwrap()),
        other => panic!("{other} is no type"),
    };
    TableColumn::new(name, sql_type)
}

/// A query by its number, rewritten.
fn rewritten(number: usize) -> (Query, Columns) {
    let path = format!("{}/../braid-bench/queries/q{number:02}.sql", env!("CARGO_MANIFEST_DIR"));
    let sql = std::fs::read_to_string(&path).unwrap();
    let (query, mut columns) = bound_to(&sql, &TpchTables).unwrap_or_else(|error| panic!("{path}: {error:?}"));
    let outputs = outputs(&query);
    let relation = rewrite(query.relation, &outputs, &mut columns, &FixedSession);
    (Query { relation, ..query }, columns)
}

fn outputs(query: &Query) -> Vec<ColumnId> {
    query.outputs.iter().map(|output| output.column).collect()
}

/// The plan, in which tables show only the columns that are read.
fn plan(number: usize) -> String {
    let (query, columns) = rewritten(number);
    let read = read_columns(&query.relation, &outputs(&query));
    let mut relation = query.relation;
    only_read(&mut relation, &read);
    relation.text(&columns, &FixedSession)
}

fn only_read(relation: &mut Relation, read: &ColumnSet) {
    if let Relation::Table(scan) = relation {
        scan.columns.retain(|column| read.contains(column));
    }
    crate::rewriting::expressions::in_subqueries(relation, &mut |subquery| only_read(&mut subquery.relation, read));
    relation.inputs_mut().into_iter().for_each(|input| only_read(input, read));
}

fn conjuncts(condition: &Expression) -> Vec<Expression> {
    match &condition.node {
        Node::And(operands) => operands.clone(),
        _ => vec![condition.clone()],
    }
}

fn reads(condition: &Expression, side: &Relation) -> bool {
    let own = side.columns();
    condition.free_columns().iter().any(|column| own.contains(column))
}

#[test]
fn plans_of_tpch() {
    check_file("tpch", |name, _| plan(name.trim_start_matches(['Q', 'q']).parse().unwrap()));
}

#[test]
fn no_query_has_a_cross_join() {
    for number in 1..=22 {
        let (query, columns) = rewritten(number);
        let text = query.relation.text(&columns, &FixedSession);
        each_relation(&query.relation, &mut |relation| {
            let Relation::Join { left, right, condition, .. } = relation else { return };
            let connects = |condition: &Expression| reads(condition, left) && reads(condition, right);
            let is_single = has_at_most_one_row(left) || has_at_most_one_row(right);
            assert!(is_single || conjuncts(condition).iter().any(connects), "Q{number}\n{text}");
        });
    }
}

#[test]
fn conditions_are_as_far_down_as_they_can_be() {
    for number in 1..=22 {
        let (query, columns) = rewritten(number);
        let text = query.relation.text(&columns, &FixedSession);
        each_relation(&query.relation, &mut |relation| match relation {
            Relation::Filter { input, condition } => match &**input {
                Relation::Join { kind: JoinKind::Mark(mark), .. } => {
                    let reads_mark = |each: &Expression| each.free_columns().contains(mark);
                    assert!(conjuncts(condition).iter().all(reads_mark), "Q{number}\n{text}");
                }
                Relation::Join { kind: JoinKind::Left | JoinKind::Single, right, .. } => {
                    assert!(conjuncts(condition).iter().all(|each| reads(each, right)), "Q{number}\n{text}");
                }
                Relation::Join { .. } | Relation::Filter { .. } | Relation::Map { .. } | Relation::Sort { .. } => {
                    panic!("Q{number}\n{text}")
                }
                _ => {}
            },
            Relation::Join { kind: JoinKind::Inner, left, right, condition } => {
                let is_of_both = |each: &Expression| reads(each, left) && reads(each, right);
                let is_true = conjuncts(condition).iter().all(|each| each.free_columns().is_empty());
                assert!(is_true || conjuncts(condition).iter().all(is_of_both), "Q{number}\n{text}");
            }
            _ => {}
        });
    }
}
