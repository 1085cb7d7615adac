//! The query types of the mix that a pass over one table answers, with N random parameters: Q1 and Q6 as shared plans and as
//! SQL. Parameters come from the TPC-H specification's ranges (section 2.4).
//!
//! Q1's averages are left to whoever prints them: the pass gives sums and counts.

use std::ops::Bound;
use std::sync::Arc;

use arrow::compute::kernels::cast_utils::Parser;
use arrow::datatypes::Date32Type;
use braid_base::{ByteSize, Random, SeededRandom};
use braid_exec::{
    Aggregate, AggregationPlan, GroupRow, IntegerExpression, IntegerOperation, KeyValue, PredicateIndex, QueryNumber,
};
use braid_storage::{ColumnPredicate, Scalar};

use crate::answer::Answer;

/// The columns of lineitem that the templates read; plans name them by position here.
pub const PASS_COLUMNS: [&str; 7] =
    ["l_shipdate", "l_discount", "l_quantity", "l_extendedprice", "l_tax", "l_returnflag", "l_linestatus"];

const SHIP_DATE: usize = 0;
const DISCOUNT: usize = 1;
const QUANTITY: usize = 2;
const EXTENDED_PRICE: usize = 3;
const TAX: usize = 4;
const RETURN_FLAG: usize = 5;
const LINE_STATUS: usize = 6;

/// 1 as a numeric(15,2).
const ONE: i64 = 100;

/// Most memory of one worker of a pass.
const PASS_MEMORY: ByteSize = ByteSize(1 << 30);

/// A query type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PassTemplate {
    /// Pricing summary: a range of dates that nests in the next, four groups, sums of products.
    Q1,
    /// Forecasting revenue change: three narrow ranges, one sum.
    Q6,
}

/// The parameters of one query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Parameters {
    Q1 { days: u64 },
    Q6 { year: u64, percent: u64, quantity: u64 },
}

/// Some queries of one type.
#[derive(Clone, Debug)]
pub struct PassQueries {
    template: PassTemplate,
    queries: Vec<Parameters>,
}

impl PassQueries {
    /// So many queries of a type with random parameters.
    pub fn random(template: PassTemplate, count: usize, seed: u64) -> Self {
        let mut random = SeededRandom::new(seed);
        let mut between = |low: u64, high: u64| low + random.below(high - low + 1);
        let query = |_| match template {
            PassTemplate::Q1 => Parameters::Q1 { days: between(60, 120) },
            PassTemplate::Q6 => {
                Parameters::Q6 { year: between(1993, 1997), percent: between(2, 9), quantity: between(24, 25) }
            }
        };
        Self { template, queries: (0..count).map(query).collect() }
    }

    /// Number of queries.
    pub fn len(&self) -> usize {
        self.queries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.queries.is_empty()
    }

    /// The text of each query.
    pub fn sql(&self) -> Vec<String> {
        self.queries.iter().map(Parameters::sql).collect()
    }

    /// The shared plan of all of them, over [`PASS_COLUMNS`].
    pub fn plan(&self) -> AggregationPlan {
        let filters = match self.template {
            PassTemplate::Q1 => vec![self.filter(SHIP_DATE)],
            PassTemplate::Q6 => vec![self.filter(SHIP_DATE), self.filter(DISCOUNT), self.filter(QUANTITY)],
        };
        AggregationPlan {
            query_count: self.len(),
            filters,
            keys: match self.template {
                PassTemplate::Q1 => vec![RETURN_FLAG, LINE_STATUS],
                PassTemplate::Q6 => Vec::new(),
            },
            aggregates: self.template.aggregates(),
            memory_limit: PASS_MEMORY,
        }
    }

    fn filter(&self, column: usize) -> (usize, Arc<PredicateIndex>) {
        let predicates: Vec<_> = self
            .queries
            .iter()
            .enumerate()
            .map(|(query, parameters)| (QueryNumber::at(query), parameters.predicate(column)))
            .collect();
        (column, Arc::new(PredicateIndex::new(self.len(), &predicates).expect("no constant is an interval")))
    }

    /// A query's rows of the pass as an answer to compare with that of its text.
    pub fn answer(&self, rows: &[GroupRow]) -> Answer {
        let scales = self.template.result_scales();
        let texts = rows.iter().map(|row| -> Vec<Option<String>> {
            let key = row.key.iter().map(|value| match value {
                KeyValue::Bytes(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
                other => panic!("{other:?} in a key of characters"),
            });
            key.chain(row.results.iter().zip(scales).map(|(result, scale)| decimal(*result, *scale))).collect()
        });
        let texts: Vec<_> = texts.collect();
        Answer::from_wire(texts.iter().map(|row| row.iter().map(Option::as_deref).collect()))
    }
}

impl PassTemplate {
    fn aggregates(self) -> Vec<Aggregate> {
        let column = IntegerExpression::Column;
        let with_one =
            |operation, at| IntegerExpression::binary(operation, IntegerExpression::Constant(ONE), column(at));
        let product = |a, b| IntegerExpression::binary(IntegerOperation::Multiply, a, b);
        match self {
            Self::Q1 => {
                let discounted = product(column(EXTENDED_PRICE), with_one(IntegerOperation::Subtract, DISCOUNT));
                let charged = product(discounted.clone(), with_one(IntegerOperation::Add, TAX));
                let sums = [column(QUANTITY), column(EXTENDED_PRICE), discounted, charged, column(DISCOUNT)];
                sums.into_iter().map(Aggregate::Sum).chain([Aggregate::CountRows]).collect()
            }
            Self::Q6 => vec![Aggregate::Sum(product(column(EXTENDED_PRICE), column(DISCOUNT)))],
        }
    }

    /// Digits after the point of each result.
    fn result_scales(self) -> &'static [usize] {
        match self {
            Self::Q1 => &[2, 2, 4, 6, 2, 0],
            Self::Q6 => &[4],
        }
    }
}

impl Parameters {
    fn sql(&self) -> String {
        match self {
            Self::Q1 { days } => format!(
                "select l_returnflag, l_linestatus, sum(l_quantity), sum(l_extendedprice), \
                 sum(l_extendedprice * (1 - l_discount)), sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)), \
                 sum(l_discount), count(*) from lineitem where l_shipdate <= date '1998-12-01' - interval '{days} days' \
                 group by l_returnflag, l_linestatus order by 1, 2"
            ),
            Self::Q6 { year, percent, quantity } => format!(
                "select sum(l_extendedprice * l_discount) from lineitem where l_shipdate >= date '{year}-01-01' \
                 and l_shipdate < date '{}-01-01' and l_discount between 0.{:02} and 0.{:02} and l_quantity < {quantity}",
                year + 1,
                percent - 1,
                percent + 1
            ),
        }
    }

    fn predicate(&self, column: usize) -> ColumnPredicate {
        let integer = |value: u64| Scalar::Int(value as i64);
        let (low, high) = match (self, column) {
            (Self::Q1 { days }, SHIP_DATE) => {
                (Bound::Unbounded, Bound::Included(Scalar::Int(days_since_1970("1998-12-01") - *days as i64)))
            }
            (Self::Q6 { year, .. }, SHIP_DATE) => {
                let first = |year: u64| Scalar::Int(days_since_1970(&format!("{year}-01-01")));
                (Bound::Included(first(*year)), Bound::Excluded(first(year + 1)))
            }
            (Self::Q6 { percent, .. }, DISCOUNT) => {
                (Bound::Included(integer(percent - 1)), Bound::Included(integer(percent + 1)))
            }
            (Self::Q6 { quantity, .. }, QUANTITY) => {
                (Bound::Unbounded, Bound::Excluded(integer(quantity * ONE as u64)))
            }
            _ => (Bound::Unbounded, Bound::Unbounded),
        };
        ColumnPredicate::Range { low, high }
    }
}

fn days_since_1970(date: &str) -> i64 {
    Date32Type::parse(date).expect("the templates write dates as they are read").into()
}

/// A physical integer as a decimal number.
fn decimal(value: Option<i128>, scale: usize) -> Option<String> {
    let value = value?;
    let sign = if value < 0 { "-" } else { "" };
    let digits = format!("{:0width$}", value.unsigned_abs(), width = scale + 1);
    let (whole, fraction) = digits.split_at(digits.len() - scale);
    Some(if scale == 0 { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") })
}
