//! `query-sets`: compares representations of query sets: lists of queries (SharedDB's choice, section 3.1), bitmaps, and numbers
//! of interned sets, for 2 to 4096 queries of the type Q6 in one pass over lineitem.
//!
//! This module implements the pass by hand for each representation, with one worker: the classes of three columns, their
//! intersections, and the sum of a product for every bucket of a row, distributed to the queries at the end. The passes
//! differ only in the representation. All three must give the same sums.

mod bitmap;
mod interned;
mod list;
mod representation;
#[cfg(test)]
mod tests;

use std::ops::Bound;
use std::sync::Arc;
use std::time::Instant;

use braid_base::VECTOR_ROWS;
use braid_buffer::ScanRequest;
use braid_exec::scan::segment_classes::SegmentClasses;
use braid_exec::{PredicateIndex, QueryNumber};
use braid_storage::{ColumnPredicate, Scalar, Segment, Selection};

use self::bitmap::BitmapSets;
use self::interned::InternedSets;
use self::list::ListSets;
use self::representation::{Bucket, KeptRows, QuerySets};
use crate::benchmarks::benchmark::BenchResult;
use crate::benchmarks::data_directory::open_tpch;
use crate::report::{Figure, number, plain_table, right};
use crate::workloads::tpch::{SharedQueries, TpchSources, TpchTable};
use crate::{BenchError, BenchOptions};

/// Numbers of queries in a pass.
const QUERY_COUNTS: [usize; 6] = [2, 16, 64, 256, 1024, 4096];

/// Maximum number of passes; their median counts.
const RUNS: usize = 3;

/// The columns with predicates, followed by those of the product.
const COLUMNS: [&str; 4] = ["l_shipdate", "l_discount", "l_quantity", "l_extendedprice"];

const DISCOUNT: usize = 1;
const PRICE: usize = 3;

/// Runs it.
pub async fn run(options: &BenchOptions) -> BenchResult {
    let database = open_tpch(options, None).await?;
    let tables = TpchSources::hot(&database);
    let chunks = read_chunks(&tables).await?;
    let mut seconds = [0.0; 3];
    let mut table = plain_table(&["queries", "lists s", "bitmaps s", "interned s"]);
    let mut figures = Vec::new();
    for count in QUERY_COUNTS {
        let indexes = indexes(count);
        let mut row = vec![right(count.to_string())];
        let mut sums: Option<Vec<i128>> = None;
        for (at, name) in ["lists", "bitmaps", "interned sets"].into_iter().enumerate() {
            // A representation whose pass exceeds the time for a measurement is not measured with more queries.
            if seconds[at] > options.seconds {
                row.push(right(String::new()));
                continue;
            }
            let (median_s, found) = match at {
                0 => median::<ListSets>(&chunks, &indexes),
                1 => median::<BitmapSets>(&chunks, &indexes),
                _ => median::<InternedSets>(&chunks, &indexes),
            };
            if sums.get_or_insert_with(|| found.clone()) != &found {
                let query = format!("{count} queries of the type Q6 with {name}");
                let difference = "sums differ from those of another representation".to_owned();
                return Err(BenchError::WrongAnswer { query, difference });
            }
            seconds[at] = median_s;
            row.push(right(number(median_s)));
            figures.push(Figure::new(format!("one pass of {count} with {name}, one worker"), median_s, "s"));
        }
        table.add_row(row);
    }
    println!("representations of query sets, Q6\n{table}");
    Ok(figures)
}

/// The segments of a chunk with its rows.
struct Chunk {
    row_count: usize,
    segments: Vec<Arc<Segment>>,
}

async fn read_chunks(tables: &TpchSources) -> Result<Vec<Chunk>, BenchError> {
    let version = tables.version(TpchTable::Lineitem);
    let column = |name: &&str| version.def.column(name).expect("lineitem has its columns").0;
    let request = ScanRequest {
        version: version.clone(),
        chunks: (0..version.chunks.len()).collect(),
        columns: COLUMNS.iter().map(column).collect(),
        in_order: false,
    };
    let scan = tables.buffer().register(request);
    let mut chunks = Vec::new();
    while let Some(chunk) = scan.next().await {
        let chunk = chunk.map_err(|e| BenchError::other("scanning lineitem", e))?;
        let row_count = version.chunks[chunk.chunk].row_count as usize;
        chunks.push(Chunk { row_count, segments: chunk.segments.clone() });
    }
    Ok(chunks)
}

/// The predicates of random queries on the first three columns.
fn indexes(count: usize) -> Vec<PredicateIndex> {
    let rows = SharedQueries::random(6, count, 0).parameters();
    let index = |column: usize| {
        let predicate = |(query, row): (usize, &Vec<Option<Scalar>>)| {
            let constant = |at: usize| row[at].clone().expect("no parameter of Q6 is null");
            let predicate = match column {
                0 => ColumnPredicate::Range { low: Bound::Included(constant(0)), high: Bound::Excluded(constant(1)) },
                1 => ColumnPredicate::Range { low: Bound::Included(constant(2)), high: Bound::Included(constant(3)) },
                _ => ColumnPredicate::Range { low: Bound::Unbounded, high: Bound::Excluded(constant(4)) },
            };
            (QueryNumber::at(query), predicate)
        };
        let predicates: Vec<_> = rows.iter().enumerate().map(predicate).collect();
        PredicateIndex::new(count, &predicates).expect("no constant is an interval")
    };
    (0..3).map(index).collect()
}

/// The median time of a pass, and the sum of each query.
fn median<S: QuerySets>(chunks: &[Chunk], indexes: &[PredicateIndex]) -> (f64, Vec<i128>) {
    let mut seconds = Vec::with_capacity(RUNS);
    let mut sums = Vec::new();
    for _ in 0..RUNS {
        let start = Instant::now();
        sums = pass::<S>(chunks, indexes);
        seconds.push(start.elapsed().as_secs_f64());
    }
    seconds.sort_by(f64::total_cmp);
    (seconds[RUNS / 2], sums)
}

fn pass<S: QuerySets>(chunks: &[Chunk], indexes: &[PredicateIndex]) -> Vec<i128> {
    let query_count = indexes[0].sets().query_count();
    let mut sets = S::new(query_count);
    let mut buckets: Vec<i128> = Vec::new();
    chunks.iter().for_each(|chunk| add_chunk(chunk, indexes, &mut sets, &mut buckets));
    let mut sums = vec![0; query_count];
    for (bucket, sum) in (0..).map(Bucket).zip(buckets).filter(|(_, sum)| *sum != 0) {
        sets.for_each_query_of(bucket, |query| sums[query.index()] += sum);
    }
    sums
}

fn add_chunk<S: QuerySets>(chunk: &Chunk, indexes: &[PredicateIndex], sets: &mut S, buckets: &mut Vec<i128>) {
    let mut of_columns: Vec<SegmentClasses> =
        indexes.iter().zip(&chunk.segments).map(|(index, segment)| SegmentClasses::new(index, segment)).collect();
    let (mut classes, mut kept) = (Vec::new(), KeptRows::new());
    let (mut discounts, mut prices) = (Vec::new(), Vec::new());
    for vector in 0..chunk.row_count.div_ceil(VECTOR_ROWS) {
        let mut rows = Selection::all(VECTOR_ROWS.min(chunk.row_count - vector * VECTOR_ROWS));
        let mut column: Option<S::Column> = None;
        for ((of_column, index), segment) in of_columns.iter_mut().zip(indexes).zip(&chunk.segments) {
            of_column.of_rows(index, segment, vector, &rows, |class| class, &mut classes);
            match &mut column {
                None => column = Some(sets.begin(index.sets(), &classes, &mut kept)),
                Some(column) => sets.narrow(column, index.sets(), &classes, &mut kept),
            }
            let mut keep = vec![false; classes.len()];
            kept.iter().for_each(|row| keep[usize::from(*row)] = true);
            rows.retain_where(&keep);
        }
        let column = column.expect("Q6 has predicates");
        discounts.clear();
        prices.clear();
        chunk.segments[DISCOUNT].gather_integers(vector, &rows, &mut discounts);
        chunk.segments[PRICE].gather_integers(vector, &rows, &mut prices);
        for row in 0..sets.row_count(&column) {
            let product = i128::from(discounts[row]) * i128::from(prices[row]);
            sets.for_each_bucket(&column, row, |Bucket(bucket)| {
                let bucket = bucket as usize;
                if bucket >= buckets.len() {
                    buckets.resize(bucket + 1, 0);
                }
                buckets[bucket] += product;
            });
        }
    }
}
