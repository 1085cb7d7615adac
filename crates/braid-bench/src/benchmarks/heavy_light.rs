//! `heavy-light`: what heavy queries do to light ones, as figures 10 and 11 of SharedDB (VLDB 2012, sections 5.6 and 5.7), over the wire,
//! with sharing off and on.
//!
//! Light queries are look-ups by key ([`LookUps`]). Heavy ones are QPipe's mix of TPC-H queries, on the same tables. All have random
//! constants. The paper has one type of each.
//!
//! - *Batches* (figure 10). Some number of queries, all light or all heavy, are sent at the same time, each on a connection of its own.
//!   The figure is the time until all are answered.
//! - *Interaction* (figure 11). A constant load of light queries, which the server sustains easily with sharing off, and more and more heavy
//!   ones beside it. The light ones arrive at random times at a fixed rate, whether earlier ones are answered or not: an open
//!   loop, with response times from the arrival. In the paper the heavy ones do, too; here they come from a closed loop without think
//!   time, so that the heavy load is always more than the server can answer, as far as its sharing allows. The paper counts
//!   answers within TPC-W's time limits; here the response times are figures of their own.
//!
//! | module | contents |
//! |---|---|
//! | `batches` | figure 10 |
//! | `interaction` | figure 11: the measurement |
//! | `interaction_figures` | figure 11: the table, the figures with their goals |

mod batches;
mod interaction;
mod interaction_figures;

use std::sync::Arc;

use crate::benchmarks::answer_checks::{self, AnswerChecks};
use crate::benchmarks::benchmark::BenchResult;
use crate::benchmarks::client_pool::ClientPool;
use crate::benchmarks::measured_server::MeasuredServer;
use crate::drivers::client::Sharing;
use crate::workloads::look_ups::LookUps;
use crate::workloads::tpch::{MIX_NUMBERS, TpchMix};
use crate::workloads::union::Union;
use crate::workloads::workload::Workload;
use crate::{BenchOptions, Servers};
use interaction::Interaction;

/// Connections for light queries. Arrivals beyond them wait in the driver.
const LIGHT_CONNECTIONS: usize = 256;

/// The queries of both kinds.
struct Kinds {
    light: Arc<dyn Workload>,
    heavy: Arc<dyn Workload>,
    /// The types of both.
    both: Arc<dyn Workload>,
}

/// Runs it.
pub async fn run(options: &BenchOptions, servers: &Servers) -> BenchResult {
    let (light, heavy): (Arc<dyn Workload>, Arc<dyn Workload>) =
        (Arc::new(LookUps::new(options.scale)), Arc::new(TpchMix));
    let both: Arc<dyn Workload> = Arc::new(Union::new(vec![Arc::clone(&light), Arc::clone(&heavy)]));
    let kinds = Kinds { light, heavy, both };
    let server = MeasuredServer::start(options, servers, &[]).await?;
    let max = |counts: &[usize]| counts.iter().copied().max().unwrap_or(0);
    let batch_max = max(&options.clients);
    let client_count = (LIGHT_CONNECTIONS + max(&options.heavy_clients)).max(batch_max).max(answer_checks::CLIENTS);
    let checks = AnswerChecks { workload: &kinds.both, stored_answers: &MIX_NUMBERS };
    let clients = checks.run(&server, server.connect(client_count).await?, options.scale, None).await?;
    let mut pool = ClientPool::new(&server, clients);
    let mut figures = batches::measure(&mut pool, &kinds, options).await?;
    let heavy_pool = pool.split_off(LIGHT_CONNECTIONS);
    let interaction = Interaction::new(&server, &kinds, options, pool, heavy_pool);
    figures.extend(interaction.measure().await?);
    Ok(figures)
}

/// The contestants in the order of a round: each second round in reverse order.
fn in_turn(round: usize) -> [Sharing; 2] {
    if round.is_multiple_of(2) { [Sharing::Off, Sharing::Auto] } else { [Sharing::Auto, Sharing::Off] }
}

/// The number of heavy clients, for names of figures.
fn heavy_clients(count: usize) -> String {
    format!("{count} heavy {}", if count == 1 { "client" } else { "clients" })
}
