//! Q4, Q12 and Q13: orders joined with their lines or their customers.

use braid_exec::Expression;
use braid_exec::plan::JoinKind;
use braid_exec::plan::Plan;
use braid_storage::Scalar;

use super::TpchSources;
use super::terms::{
    Order, at_least, columns, columns_at, day, difference, either, equal, filter, group, integer, is_among, join, less,
    like, parameter, project, row_count, sort, sum, text,
};
use crate::workloads::tpch::TpchTable;

/// Order priority checking. `$0`, `$1`: first day of orders, and the day after the last one.
///
/// Orders are the build side, because there are four times as many lines. Whether an order has a late line is the same for all
/// queries.
pub(super) fn q4(tables: &TpchSources) -> Plan {
    let orders = tables.source(TpchTable::Orders, &["o_orderkey", "o_orderdate", "o_orderpriority"], Vec::new());
    let [_, order_date, _] = columns();
    let orders = filter(orders, vec![at_least(order_date.clone(), parameter(0)), less(order_date, parameter(1))]);
    let lineitem = tables.source(TpchTable::Lineitem, &["l_orderkey", "l_commitdate", "l_receiptdate"], Vec::new());
    let [_, commit_date, receipt_date] = columns();
    let late = filter(lineitem, vec![less(commit_date, receipt_date)]);
    let with_late_lines = join(JoinKind::BuildSemi, (orders, 0), (late, 0));
    sort(group(with_late_lines, &[2], vec![row_count()]), &[(0, Order::Ascending)])
}

/// The parameters of [`q4`].
pub(super) fn q4_parameters(year: u64, month: u64) -> Vec<Scalar> {
    [day(year, month, 1), day(year, month + 3, 1)].map(Scalar::Int).to_vec()
}

/// Shipping modes and order priority. `$0`, `$1`: the modes; `$2`, `$3`: first day of receipt, and the day after the
/// last one.
///
/// Lines are the build side. The conditions that all queries have keep an eighth of them, so that the lines of all modes and
/// years are fewer than the orders.
pub(super) fn q12(tables: &TpchSources) -> Plan {
    let read = ["l_orderkey", "l_shipmode", "l_shipdate", "l_commitdate", "l_receiptdate"];
    let lineitem = tables.source(TpchTable::Lineitem, &read, Vec::new());
    let [_, mode, ship_date, commit_date, receipt_date] = columns();
    let wanted = filter(
        lineitem,
        vec![
            Expression::Or(vec![equal(mode.clone(), parameter(0)), equal(mode, parameter(1))]),
            at_least(receipt_date.clone(), parameter(2)),
            less(receipt_date.clone(), parameter(3)),
            less(commit_date.clone(), receipt_date),
            less(ship_date, commit_date),
        ],
    );
    let orders = tables.source(TpchTable::Orders, &["o_orderkey", "o_orderpriority"], Vec::new());
    let [order_key, priority] = columns();
    let is_high = either(is_among(priority, &["1-URGENT", "2-HIGH"]), integer(1), integer(0));
    let orders = project(orders, vec![order_key, is_high]);
    // The order's key and whether it is of high priority; the line's key and mode.
    let lines = join(JoinKind::Inner, (wanted, 0), (orders, 0));
    let counted = group(lines, &[3], vec![sum(1), row_count()]);
    // No priority is null: what is not high is low.
    let [mode, high, all] = columns();
    let results = project(counted, vec![mode, high.clone(), difference(all, high)]);
    sort(results, &[(0, Order::Ascending)])
}

/// The parameters of [`q12`].
pub(super) fn q12_parameters(modes: &[&str; 2], year: u64) -> Vec<Scalar> {
    let days = [day(year, 1, 1), day(year + 1, 1, 1)].map(Scalar::Int);
    modes.iter().map(|mode| text(mode)).chain(days).collect()
}

/// Customer distribution. `$0`: the pattern of the comments of excluded orders.
///
/// Orders are counted by customer before the join, so that the join has one row for each customer instead of one for each
/// order.
pub(super) fn q13(tables: &TpchSources) -> Plan {
    let orders = tables.source(TpchTable::Orders, &["o_custkey", "o_comment"], Vec::new());
    let [_, comment] = columns();
    let counting = filter(orders, vec![Expression::Not(Box::new(like(comment, parameter(0))))]);
    let by_customer = group(counting, &[0], vec![row_count()]);
    let customers = tables.source(TpchTable::Customer, &["c_custkey"], Vec::new());
    let all = join(JoinKind::BuildOuter, (customers, 0), (by_customer, 0));
    let [count] = columns_at([1]);
    let order_count = either(Expression::IsNull(Box::new(count.clone())), integer(0), count);
    let distribution = group(project(all, vec![order_count]), &[0], vec![row_count()]);
    sort(distribution, &[(1, Order::Descending), (0, Order::Descending)])
}

/// The parameters of [`q13`].
pub(super) fn q13_parameters(words: &[&str; 2]) -> Vec<Scalar> {
    vec![text(&format!("%{}%{}%", words[0], words[1]))]
}
