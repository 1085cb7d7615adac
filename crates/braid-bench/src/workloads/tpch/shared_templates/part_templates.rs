//! Q8, Q14 and Q19: revenue by properties of the parts. Lineitem is always on the probe side, the other tables are build sides.

use std::ops::Bound;

use arrow::datatypes::DataType;
use braid_exec::Expression;
use braid_exec::expression::DatePart;
use braid_exec::plan::JoinKind;
use braid_exec::plan::Plan;
use braid_storage::{ColumnPredicate, Scalar};

use super::TpchSources;
use super::quotient::{quotient, quotient_type};
use super::terms::{
    ONE, Order, at_least, at_most, columns, columns_at, day, discounted, either, equal, filter, group, integer,
    is_among, join, less, like, parameter, product, project, sort, sum, text,
};
use crate::workloads::tpch::TpchTable;
use crate::workloads::tpch::mix::{Q19_ALTERNATIVES, Q19_QUANTITIES, Q19Alternative};

/// Digits after the point of revenue: a price times a rate.
const REVENUE_SCALE: i8 = 4;

/// Digits after the point of 100.00 times revenue.
const PERCENT_SCALE: i8 = REVENUE_SCALE + 2;

/// National market share. `$0`: type of the parts; `$1`: the customers' region; `$2`: the suppliers' nation.
///
/// Parts and orders are joined first, because both restrict the queries of a line. A line that no query wants for both its part
/// and its order is dropped before other work. The join with suppliers drops no rows. Nations are numbers up to the grouping;
/// names are added to groups.
pub(super) fn q8(tables: &TpchSources) -> Plan {
    let part = tables.source(TpchTable::Part, &["p_partkey", "p_type"], Vec::new());
    let [_, part_type] = columns();
    let part = filter(part, vec![equal(part_type, parameter(0))]);
    let supplier = tables.source(TpchTable::Supplier, &["s_suppkey", "s_nationkey"], Vec::new());
    let read = ["l_partkey", "l_orderkey", "l_suppkey", "l_extendedprice", "l_discount"];
    let lineitem = tables.source(TpchTable::Lineitem, &read, Vec::new());
    // Columns 5 and 6 are the part's, 7 and 8 the order's, 9 and 10 the supplier's.
    let lines = join(JoinKind::Inner, (part, 0), (lineitem, 0));
    let lines = join(JoinKind::Inner, (q8_orders(tables), 0), (lines, 1));
    let lines = join(JoinKind::Inner, (supplier, 0), (lines, 2));
    let [price, discount, year, nation_key] = columns_at([3, 4, 8, 10]);
    let volumes = project(lines, vec![year, nation_key, discounted(price, discount)]);
    let by_nation = group(volumes, &[0, 1], vec![sum(2)]);
    let nation = tables.source(TpchTable::Nation, &["n_nationkey", "n_name"], Vec::new());
    let named = join(JoinKind::Inner, (nation, 0), (by_nation, 1));
    let [year, volume, name] = columns_at([0, 2, 4]);
    let of_nation = either(equal(name, parameter(2)), volume.clone(), integer(0));
    let by_year = group(project(named, vec![year, of_nation, volume]), &[0], vec![sum(1), sum(2)]);
    let [year, of_nation, all] = columns();
    let share = quotient((of_nation, REVENUE_SCALE), (all, REVENUE_SCALE));
    sort(project(by_year, vec![year, share]), &[(0, Order::Ascending)])
}

/// Keys and years of the orders of 1995 and 1996 of a region's customers.
fn q8_orders(tables: &TpchSources) -> Plan {
    let region = tables.source(TpchTable::Region, &["r_regionkey", "r_name"], Vec::new());
    let [_, region_name] = columns();
    let region = filter(region, vec![equal(region_name, parameter(1))]);
    let nation = tables.source(TpchTable::Nation, &["n_nationkey", "n_regionkey"], Vec::new());
    let nation = join(JoinKind::Inner, (region, 0), (nation, 1));
    let customer = tables.source(TpchTable::Customer, &["c_custkey", "c_nationkey"], Vec::new());
    let customer = join(JoinKind::Inner, (nation, 0), (customer, 1));
    let years = range(day(1995, 1, 1), day(1996, 12, 31));
    let orders =
        tables.source(TpchTable::Orders, &["o_orderkey", "o_custkey", "o_orderdate"], vec![("o_orderdate", years)]);
    let orders = join(JoinKind::Inner, (customer, 0), (orders, 1));
    let [order_key, order_date] = columns_at([0, 2]);
    project(orders, vec![order_key, Expression::DatePart { part: DatePart::Year, value: Box::new(order_date) }])
}

/// The parameters of [`q8`].
pub(super) fn q8_parameters(nation: &str, region: &str, part_type: &str) -> Vec<Scalar> {
    [part_type, region, nation].map(text).to_vec()
}

/// The type of [`q8`]'s share.
pub(super) fn q8_share_type() -> DataType {
    quotient_type(REVENUE_SCALE)
}

/// Promotion effect. `$0`, `$1`: first day of shipping, and the day after the last one.
///
/// A part has the number 1 if it is on promotion, otherwise 0. Each line multiplies its revenue by this number.
pub(super) fn q14(tables: &TpchSources) -> Plan {
    let part = tables.source(TpchTable::Part, &["p_partkey", "p_type"], Vec::new());
    let [part_key, part_type] = columns();
    let on_promotion = like(part_type, Expression::Constant(Some(text("PROMO%"))));
    let part = project(part, vec![part_key, either(on_promotion, integer(1), integer(0))]);
    let read = ["l_partkey", "l_shipdate", "l_extendedprice", "l_discount"];
    let lineitem = tables.source(TpchTable::Lineitem, &read, Vec::new());
    let [_, ship_date, _, _] = columns();
    let wanted = filter(lineitem, vec![at_least(ship_date.clone(), parameter(0)), less(ship_date, parameter(1))]);
    let lines = join(JoinKind::Inner, (part, 0), (wanted, 0));
    let [price, discount, on_promotion] = columns_at([2, 3, 5]);
    let revenues = project(lines, vec![discounted(price, discount), on_promotion]);
    let [revenue, on_promotion] = columns();
    let revenues = project(revenues, vec![product(revenue.clone(), on_promotion), revenue]);
    let [promotion, all] = columns();
    let percent = product(integer(100 * ONE), promotion);
    let share = quotient((percent, PERCENT_SCALE), (all, REVENUE_SCALE));
    project(group(revenues, &[], vec![sum(0), sum(1)]), vec![share])
}

/// The parameters of [`q14`].
pub(super) fn q14_parameters(year: u64, month: u64) -> Vec<Scalar> {
    [day(year, month, 1), day(year, month + 1, 1)].map(Scalar::Int).to_vec()
}

/// The type of [`q14`]'s share.
pub(super) fn q14_share_type() -> DataType {
    quotient_type(PERCENT_SCALE)
}

/// Discounted revenue. `$0` to `$2`: brand of each alternative; `$3` and `$4`, `$5` and `$6`, `$7` and `$8`: its minimum
/// and maximum quantity.
///
/// No container belongs to two alternatives, so that a part belongs to at most one. The join with the part checks brand and
/// size. The remaining condition on a line is that its quantity is in the range of that alternative.
pub(super) fn q19(tables: &TpchSources) -> Plan {
    let mut containers: Vec<&str> = Q19_ALTERNATIVES.iter().flat_map(|fixed| fixed.containers).collect();
    containers.sort_unstable();
    let size_max = Q19_ALTERNATIVES.iter().map(|fixed| fixed.size_max).max().unwrap_or(0);
    let of_some_alternative = vec![
        ("p_size", range(1, size_max)),
        ("p_container", ColumnPredicate::In(containers.into_iter().map(text).collect())),
    ];
    let read = ["p_partkey", "p_brand", "p_container", "p_size"];
    let part = tables.source(TpchTable::Part, &read, of_some_alternative);
    let [part_key, brand, container, size] = columns();
    let is_of = |(number, fixed): (usize, &Q19Alternative)| {
        Expression::And(vec![
            equal(brand.clone(), parameter(number)),
            is_among(container.clone(), &fixed.containers),
            at_most(size.clone(), integer(fixed.size_max)),
        ])
    };
    let part = filter(part, vec![Expression::Or(Q19_ALTERNATIVES.iter().enumerate().map(is_of).collect())]);
    let branch = |(number, fixed): (usize, &Q19Alternative)| {
        (is_among(container.clone(), &fixed.containers), integer(number as i64))
    };
    let branches = Q19_ALTERNATIVES.iter().enumerate().map(branch).collect();
    let part = project(part, vec![part_key, Expression::Case { branches, otherwise: None }]);
    let lines = join(JoinKind::Inner, (part, 0), (q19_lines(tables), 0));
    let [quantity, price, discount, alternative] = columns_at([1, 2, 3, 5]);
    let of_alternative = |number: usize| {
        let [least, greatest] = quantity_bounds(number, &quantity);
        Expression::And(vec![equal(alternative.clone(), integer(number as i64)), least, greatest])
    };
    let wanted = filter(lines, vec![Expression::Or((0..Q19_ALTERNATIVES.len()).map(of_alternative).collect())]);
    group(project(wanted, vec![discounted(price, discount)]), &[], vec![sum(0)])
}

/// Lines that satisfy the conditions of all queries, with a quantity of any alternative.
fn q19_lines(tables: &TpchSources) -> Plan {
    let quantity_max = Q19_ALTERNATIVES.iter().map(|fixed| fixed.quantity.1 + Q19_QUANTITIES).max().unwrap_or(0);
    let shipped = vec![
        ("l_shipmode", ColumnPredicate::In(vec![text("AIR"), text("AIR REG")])),
        ("l_shipinstruct", ColumnPredicate::equal(text("DELIVER IN PERSON"))),
        ("l_quantity", range(ONE, quantity_max as i64 * ONE)),
    ];
    let read = ["l_partkey", "l_quantity", "l_extendedprice", "l_discount"];
    let lineitem = tables.source(TpchTable::Lineitem, &read, shipped);
    let [_, quantity, _, _] = columns();
    let of_alternative = |number: usize| Expression::And(quantity_bounds(number, &quantity).to_vec());
    filter(lineitem, vec![Expression::Or((0..Q19_ALTERNATIVES.len()).map(of_alternative).collect())])
}

/// Whether the quantity is in the range of the alternative.
fn quantity_bounds(alternative: usize, quantity: &Expression) -> [Expression; 2] {
    let least = Q19_ALTERNATIVES.len() + 2 * alternative;
    [at_least(quantity.clone(), parameter(least)), at_most(quantity.clone(), parameter(least + 1))]
}

/// The parameters of [`q19`].
pub(super) fn q19_parameters(wanted: &[(String, u64); 3]) -> Vec<Scalar> {
    let brands = wanted.iter().map(|(brand, _)| text(brand));
    let bounds = wanted.iter().flat_map(|(_, quantity)| [*quantity, quantity + Q19_QUANTITIES]);
    brands.chain(bounds.map(|quantity| Scalar::Int(quantity as i64 * ONE))).collect()
}

/// Both bounds included.
fn range(low: i64, high: i64) -> ColumnPredicate {
    ColumnPredicate::Range { low: Bound::Included(Scalar::Int(low)), high: Bound::Included(Scalar::Int(high)) }
}
