//! The registry: every benchmark by name.

use crate::benchmarks::benchmark::{BenchOptions, Benchmark};
use crate::benchmarks::{
    cold_scan, differential, footprint, heavy_light, histories, isolation, join_order, load, one_pass, overload,
    panels, query_sets, refresh_mix, scan_sharing, spilling, star, star_merged, tpcds_power, tpch_check, tpch_memory,
    tpch_mix, tpch_power, unlike,
};
use crate::report::{Report, machine};
use crate::workloads::loading::check_scale;
use crate::{BenchError, Servers};

/// All benchmarks.
pub fn benchmarks() -> &'static [Benchmark] {
    &[
        Benchmark {
            name: "load",
            about: "loads TPC-H from Parquet into Braid and DuckDB: time and size on disk",
            run: |options, _| Box::pin(load::run(options)),
        },
        Benchmark {
            name: "cold-scan",
            about: "scans one column with an empty buffer: bytes read, and bandwidth compared with the disk's",
            run: |options, _| Box::pin(cold_scan::run(options)),
        },
        Benchmark {
            name: "scan-sharing",
            about: "runs staggered scans of different speeds and ranges under the four scan policies: bytes read, latency",
            run: |options, _| Box::pin(scan_sharing::run(options)),
        },
        Benchmark {
            name: "one-pass",
            about: "runs up to 1024 queries of QPipe's mix in one pass, and one at a time on Braid and DuckDB: time",
            run: |options, _| Box::pin(one_pass::run(options)),
        },
        Benchmark {
            name: "query-sets",
            about: "compares representations of query sets (lists, bitmaps, interned sets) for up to 4096 queries: time",
            run: |options, _| Box::pin(query_sets::run(options)),
        },
        Benchmark {
            name: "tpch-power",
            about: "runs the 22 TPC-H queries with hot data on Braid and DuckDB: time",
            run: |options, _| Box::pin(tpch_power::run(options)),
        },
        Benchmark {
            name: "tpcds-power",
            about: "runs the 99 TPC-DS queries with hot data on Braid and DuckDB: time",
            run: |options, _| Box::pin(tpcds_power::run(options)),
        },
        Benchmark {
            name: "spilling",
            about: "runs a sort, groups and a join with half and a tenth of the memory that they need: time, bytes written",
            run: |options, _| Box::pin(spilling::run(options)),
        },
        Benchmark {
            name: "join-order",
            about: "runs the 22 TPC-H queries in other join orders: the cost of bad join orders",
            run: |options, _| Box::pin(join_order::run(options)),
        },
        Benchmark {
            name: "tpch-mix",
            about: "runs QPipe's eight-query mix with many clients, sharing off and on, beside DuckDB: throughput, latency",
            run: |options, servers| Box::pin(tpch_mix::run(options, servers)),
        },
        Benchmark {
            name: "refresh-mix",
            about: "runs `tpch-mix` with sharing on, alone and beside 1000 inserted rows a second: throughput, latency",
            run: |options, servers| Box::pin(refresh_mix::run(options, servers)),
        },
        Benchmark {
            name: "panels",
            about: "runs the selective statements of dashboards with many clients, as `tpch-mix`",
            run: |options, servers| Box::pin(panels::run(options, servers)),
        },
        Benchmark {
            name: "star",
            about: "runs thirteen statement types on a star schema with many clients, as `tpch-mix`",
            run: |options, servers| Box::pin(star::run(options, servers)),
        },
        Benchmark {
            name: "star-merged",
            about: "runs up to 256 queries of thirteen types in one pass over a star schema, and in one for each type: time",
            run: |options, _| Box::pin(star_merged::run(options)),
        },
        Benchmark {
            name: "unlike",
            about: "runs 64 clients whose statements cannot share, with sharing off and on: throughput, latency",
            run: |options, servers| Box::pin(unlike::run(options, servers)),
        },
        Benchmark {
            name: "heavy-light",
            about: "runs batches of light and heavy queries, and light ones beside more and more heavy ones: response times",
            run: |options, servers| Box::pin(heavy_light::run(options, servers)),
        },
        Benchmark {
            name: "overload",
            about: "sends QPipe's mix at up to 3 times what sharing off can do, also with a response limit: response times",
            run: |options, servers| Box::pin(overload::run(options, servers)),
        },
        Benchmark {
            name: "footprint",
            about: "measures a server: start time; memory at rest, after queries, with idle connections, while streaming",
            run: |options, servers| Box::pin(footprint::run(options, servers)),
        },
        Benchmark {
            name: "tpch-memory",
            about: "runs each of the 22 TPC-H queries in a new process of Braid and DuckDB: peak memory",
            run: |options, servers| Box::pin(tpch_memory::run(options, servers)),
        },
        Benchmark {
            name: "tpch-check",
            about: "checks the 22 TPC-H queries against the answers on which DuckDB and PostgreSQL agree",
            run: |options, _| Box::pin(tpch_check::run(options)),
        },
        Benchmark {
            name: "differential",
            about: "runs random queries on random tables on Braid and another engine: answers that differ",
            run: |options, _| Box::pin(differential::run(options)),
        },
        Benchmark {
            name: "histories",
            about: "asks random statements with many clients while tables change: answers that differ from the query alone",
            run: |options, servers| Box::pin(histories::run(options, servers)),
        },
        Benchmark {
            name: "isolation",
            about: "runs random transactions of many clients while the server is killed: anomalies that their level forbids",
            run: |options, servers| Box::pin(isolation::run(options, servers)),
        },
    ]
}

/// Runs the benchmark called `name`, prints its figures, and writes them as JSON if an option says so.
pub async fn run_benchmark(name: &str, options: &BenchOptions, servers: &Servers) -> Result<Report, BenchError> {
    let benchmark = benchmarks().iter().find(|b| b.name == name).ok_or_else(|| BenchError::UnknownBenchmark {
        name: name.to_owned(),
        known: benchmarks().iter().map(|b| b.name).collect::<Vec<_>>().join(", "),
    })?;
    check_options(options)?;
    let figures = (benchmark.run)(options, servers).await?;
    let report = Report { bench: benchmark.name, machine: machine(), figures };
    println!("{}: {}\n{}\n{}", report.bench, benchmark.about, report.machine, report.table());
    if let Some(path) = &options.json {
        report.write_json(path)?;
    }
    Ok(report)
}

fn check_options(options: &BenchOptions) -> Result<(), BenchError> {
    let bad = |option, value, reason: &str| Err(BenchError::BadOption { option, value, reason: reason.to_owned() });
    check_scale(options.scale)?;
    if !(options.seconds > 0.0 && options.seconds <= 3600.0) {
        return bad("seconds", options.seconds.to_string(), "it must be above 0 and at most 3600 s");
    }
    if options.rounds == 0 || options.rounds > 100 {
        return bad("rounds", options.rounds.to_string(), "it must be from 1 to 100");
    }
    // The default of --max-connections is 2000.
    if options.connections == 0 || options.connections > 1900 {
        return bad("connections", options.connections.to_string(), "it must be from 1 to 1900");
    }
    if options.rows == 0 || options.rows > 1_000_000_000_000 {
        return bad("rows", options.rows.to_string(), "it must be from 1 to 10^12");
    }
    if options.cases == 0 || options.cases > 1_000_000_000 {
        return bad("cases", options.cases.to_string(), "it must be from 1 to 10^9");
    }
    // With the connections of the light queries, fewer than --max-connections.
    if let Some(clients) = options.heavy_clients.iter().find(|&&clients| clients == 0 || clients > 1600) {
        return bad("heavy-clients", clients.to_string(), "it must be from 1 to 1600");
    }
    // A limit of 0 would be no limit. The setting's type has 31 bits.
    match options.response_limit {
        Some(limit) if limit == 0 || limit > i32::MAX as u64 => {
            return bad("response-limit", limit.to_string(), "it must be from 1 to 2147483647 ms");
        }
        _ => {}
    }
    match options.clients.iter().find(|&&c| c == 0 || c > 1900) {
        Some(clients) => bad("clients", clients.to_string(), "it must be from 1 to 1900"),
        None => Ok(()),
    }
}
