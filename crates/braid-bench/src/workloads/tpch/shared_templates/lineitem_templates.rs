//! Q1 and Q6: a filter and sums over lineitem.

use braid_exec::plan::Plan;
use braid_storage::Scalar;

use super::TpchSources;
use super::terms::{
    ONE, Order, at_least, at_most, average, columns, day, discounted, filter, group, less, one_more, parameter,
    product, project, row_count, sort, sum,
};
use crate::workloads::tpch::TpchTable;

/// Pricing summary. `$0`: last day of shipping.
pub(super) fn q1(tables: &TpchSources) -> Plan {
    let read = ["l_returnflag", "l_linestatus", "l_quantity", "l_extendedprice", "l_discount", "l_tax", "l_shipdate"];
    let lineitem = tables.source(TpchTable::Lineitem, &read, Vec::new());
    let [flag, status, quantity, price, discount, tax, ship_date] = columns();
    let wanted = filter(lineitem, vec![at_most(ship_date, parameter(0))]);
    // Computed once, although two sums need it.
    let after_discount = discounted(price.clone(), discount.clone());
    let computed = project(wanted, vec![flag, status, quantity, price, discount, tax, after_discount]);
    let [flag, status, quantity, price, discount, tax, after_discount] = columns();
    let charged = product(after_discount.clone(), one_more(tax));
    let computed = project(computed, vec![flag, status, quantity, price, discount, after_discount, charged]);
    let results = vec![sum(2), sum(3), sum(5), sum(6), average(2), average(3), average(4), row_count()];
    sort(group(computed, &[0, 1], results), &[(0, Order::Ascending), (1, Order::Ascending)])
}

/// The parameters of [`q1`].
pub(super) fn q1_parameters(days: u64) -> Vec<Scalar> {
    vec![Scalar::Int(day(1998, 12, 1) - days as i64)]
}

/// Forecasting revenue change. `$0`, `$1`: first day of shipping, and the day after the last one; `$2`, `$3`: minimum and
/// maximum discount; `$4`: upper bound of the quantity, exclusive.
pub(super) fn q6(tables: &TpchSources) -> Plan {
    let read = ["l_shipdate", "l_discount", "l_quantity", "l_extendedprice"];
    let lineitem = tables.source(TpchTable::Lineitem, &read, Vec::new());
    let [ship_date, discount, quantity, price] = columns();
    let wanted = filter(
        lineitem,
        vec![
            at_least(ship_date.clone(), parameter(0)),
            less(ship_date, parameter(1)),
            at_least(discount.clone(), parameter(2)),
            at_most(discount.clone(), parameter(3)),
            less(quantity, parameter(4)),
        ],
    );
    group(project(wanted, vec![product(price, discount)]), &[], vec![sum(0)])
}

/// The parameters of [`q6`].
pub(super) fn q6_parameters(year: u64, percent: u64, quantity: u64) -> Vec<Scalar> {
    let percent = percent as i64;
    let values = [day(year, 1, 1), day(year + 1, 1, 1), percent - 1, percent + 1, quantity as i64 * ONE];
    values.map(Scalar::Int).to_vec()
}
