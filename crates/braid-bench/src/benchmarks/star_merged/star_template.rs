//! What the statement types of the star schema have above their joins: groups, one sum, an order.

use std::sync::Arc;

use braid_exec::Expression;
use braid_exec::expression::{Arithmetic, NumberRange};
use braid_exec::plan::{AggregateCall, AggregateFunction, AggregationSpec, SortKey, SortSpec};

/// A dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DimensionTable {
    Date,
    Supplier,
    Part,
    Customer,
}

use DimensionTable::{Customer, Date, Part, Supplier};

impl DimensionTable {
    /// All dimensions, in the order in which a merged pass joins them: the small ones first, whose keys stay in the caches.
    pub const ALL: [Self; 4] = [Date, Supplier, Part, Customer];

    /// The table's name.
    pub fn name(self) -> &'static str {
        match self {
            Date => "star_date",
            Supplier => "star_supplier",
            Part => "star_part",
            Customer => "star_customer",
        }
    }

    /// The prefix of its columns.
    pub fn prefix(self) -> &'static str {
        match self {
            Date => "d_",
            Supplier => "s_",
            Part => "p_",
            Customer => "c_",
        }
    }

    /// Its key, and the column of the fact table that refers to it.
    pub fn keys(self) -> (&'static str, &'static str) {
        match self {
            Date => ("d_datekey", "lo_orderdate"),
            Supplier => ("s_suppkey", "lo_suppkey"),
            Part => ("p_partkey", "lo_partkey"),
            Customer => ("c_custkey", "lo_custkey"),
        }
    }
}

/// The sum of a type, over columns of the fact table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    Column(&'static str),
    Product(&'static str, &'static str),
    Difference(&'static str, &'static str),
}

impl Measure {
    /// The columns that it reads.
    pub fn columns(self) -> Vec<&'static str> {
        match self {
            Self::Column(column) => vec![column],
            Self::Product(left, right) | Self::Difference(left, right) => vec![left, right],
        }
    }

    /// Its value over [`Self::columns`].
    pub fn expression(self) -> Expression {
        let of_both = |operation| Expression::Arithmetic {
            operation,
            left: Box::new(Expression::Column(0)),
            right: Box::new(Expression::Column(1)),
            range: NumberRange::Numeric,
        };
        match self {
            Self::Column(_) => Expression::Column(0),
            Self::Product(..) => of_both(Arithmetic::Multiply),
            Self::Difference(..) => of_both(Arithmetic::Subtract),
        }
    }
}

/// A statement type.
#[derive(Clone, Debug)]
pub struct StarTemplate {
    /// The dimensions that it joins.
    pub dimensions: &'static [DimensionTable],
    /// The columns that it groups by.
    pub keys: Vec<(DimensionTable, &'static str)>,
    /// What it sums up.
    pub measure: Measure,
    /// The columns of its result: positions among the keys followed by the sum.
    pub results: Vec<usize>,
    /// The order of its result by columns of the result; whether each descends.
    order: Vec<(usize, bool)>,
}

impl StarTemplate {
    /// The type with this number, as [`StarQuery::text`](crate::workloads::star::StarQuery::text) writes it.
    pub fn of_type(number: usize) -> Self {
        let ascending = |columns: &[usize]| columns.iter().map(|column| (*column, false)).collect();
        match number {
            0..3 => Self {
                dimensions: &[Date],
                keys: Vec::new(),
                measure: Measure::Product("lo_extendedprice", "lo_discount"),
                results: vec![0],
                order: Vec::new(),
            },
            3..6 => Self {
                dimensions: &[Date, Supplier, Part],
                keys: vec![(Date, "d_year"), (Part, "p_brand1")],
                measure: Measure::Column("lo_revenue"),
                results: vec![2, 0, 1],
                order: ascending(&[1, 2]),
            },
            6..10 => {
                let (customer, supplier) = if number == 6 { ("c_nation", "s_nation") } else { ("c_city", "s_city") };
                Self {
                    dimensions: &[Date, Supplier, Customer],
                    keys: vec![(Customer, customer), (Supplier, supplier), (Date, "d_year")],
                    measure: Measure::Column("lo_revenue"),
                    results: vec![0, 1, 2, 3],
                    order: vec![(2, false), (3, true), (0, false), (1, false)],
                }
            }
            _ => {
                let keys = match number {
                    10 => vec![(Date, "d_year"), (Customer, "c_nation")],
                    11 => vec![(Date, "d_year"), (Supplier, "s_nation"), (Part, "p_category")],
                    _ => vec![(Date, "d_year"), (Supplier, "s_city"), (Part, "p_brand1")],
                };
                Self {
                    dimensions: &DimensionTable::ALL,
                    measure: Measure::Difference("lo_revenue", "lo_supplycost"),
                    results: (0..=keys.len()).collect(),
                    order: ascending(&(0..keys.len()).collect::<Vec<_>>()),
                    keys,
                }
            }
        }
    }

    /// The grouping of rows whose columns are the keys, the measure, and the set.
    pub fn grouping(&self) -> AggregationSpec {
        let sum = AggregateCall {
            function: AggregateFunction::Sum,
            argument: Some(self.keys.len()),
            distinct: false,
            filter: None,
        };
        AggregationSpec { keys: (0..self.keys.len()).collect(), aggregates: vec![sum] }
    }

    /// The order of its result; `None` if it has one row.
    pub fn sorting(&self) -> Option<Arc<SortSpec>> {
        // PostgreSQL has nulls above all values.
        let key = |(column, descending): &(usize, bool)| SortKey {
            column: *column,
            descending: *descending,
            nulls_first: *descending,
        };
        let keys: Vec<SortKey> = self.order.iter().map(key).collect();
        (!keys.is_empty()).then(|| Arc::new(SortSpec { keys, limit: None }))
    }
}
