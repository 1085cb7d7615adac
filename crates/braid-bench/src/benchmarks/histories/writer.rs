//! Changes the tables: rows are added, a table is dropped and made again, some writes fail.

use std::sync::Arc;
use std::time::Duration;

use super::history::History;
use crate::BenchError;
use crate::drivers::wire_session::WireSession;
use crate::workloads::histories::tables::{CHANGING_COUNT, changing};
use crate::workloads::random_sql::draw::Draw;

/// Time between two changes, in milliseconds.
const PAUSE_MS: (i64, i64) = (200, 600);

/// Time for which a dropped table is away, in milliseconds.
const AWAY_MS: (i64, i64) = (0, 30);

/// Times that rows are added to a table before it is dropped and made again.
const ADDED_MAX: u32 = 6;

/// Versions that are kept for queries that are in flight. More of them wait for the checks.
const KEPT_MAX: usize = 24;

/// A table that never exists: what a version has in the place of a dropped table.
fn dropped(table: usize) -> String {
    format!("dropped_{table}")
}

/// The copy of a table's first rows, which stays.
pub(super) fn first_copy(table: usize) -> String {
    format!("past_{table}_first")
}

/// Makes the copies of version 0; their names.
pub(super) async fn make_first_copies(session: &WireSession) -> Result<Vec<String>, BenchError> {
    for table in 0..CHANGING_COUNT {
        session.run(&format!("create table {} as select * from {}", first_copy(table), changing(table))).await?;
    }
    Ok((0..CHANGING_COUNT).map(first_copy).collect())
}

/// Changes the tables for ever.
pub(super) async fn write(history: Arc<History>) -> Result<(), BenchError> {
    let session = WireSession::connect(history.address, "").await?;
    let mut writer = Writer { draw: Draw::new(history.seed), history, session, added: [0; CHANGING_COUNT] };
    loop {
        let pause = writer.draw.between(PAUSE_MS.0, PAUSE_MS.1) as u64;
        tokio::time::sleep(Duration::from_millis(pause)).await;
        let history = Arc::clone(&writer.history);
        let _writing = history.writing.lock().await;
        writer.drop_unneeded().await?;
        if history.versions.lock().kept() < KEPT_MAX {
            writer.change().await?;
        }
    }
}

struct Writer {
    history: Arc<History>,
    session: WireSession,
    draw: Draw,
    /// How often rows were added to each table.
    added: [u32; CHANGING_COUNT],
}

impl Writer {
    async fn drop_unneeded(&self) -> Result<(), BenchError> {
        let copies = self.history.versions.lock().take_unneeded();
        for copy in copies.iter().filter(|copy| copy.starts_with("past_") && !copy.ends_with("_first")) {
            self.session.run(&format!("drop table {copy}")).await?;
        }
        Ok(())
    }

    async fn change(&mut self) -> Result<(), BenchError> {
        let table = self.draw.below(CHANGING_COUNT);
        if self.added[table] >= ADDED_MAX || self.draw.percent(15) {
            return self.make_again(table).await;
        }
        let name = changing(table);
        let rows = self.history.tables.added_rows(table, &mut self.draw);
        if self.draw.percent(10) {
            return self.fail(&name).await;
        }
        let (copy, number) = {
            let versions = self.history.versions.lock();
            (versions.newest().copies[table].clone(), versions.newest().number + 1)
        };
        let next = format!("past_{table}_{number}");
        self.session.run(&format!("create table {next} as select * from {copy}")).await?;
        self.session.run(&format!("insert into {next} values {rows}")).await?;
        self.added[table] += 1;
        self.commit(table, next, &format!("insert into {name} values {rows}")).await
    }

    /// A write that fails, and must leave nothing.
    async fn fail(&self, name: &str) -> Result<(), BenchError> {
        let failing =
            format!("insert into {name} select * from {name} where 1 / (select count(*) from small where k < 0) = 1");
        match self.session.run(&failing).await {
            Err(error) if error.sqlstate() == Some("22012") => Ok(()),
            Err(error) => Err(error),
            Ok(()) => Err(BenchError::other(failing, "it should have failed with a division by zero")),
        }
    }

    async fn make_again(&mut self, table: usize) -> Result<(), BenchError> {
        let name = changing(table);
        self.added[table] = 0;
        self.commit(table, dropped(table), &format!("drop table {name}")).await?;
        let away = self.draw.between(AWAY_MS.0, AWAY_MS.1) as u64;
        tokio::time::sleep(Duration::from_millis(away)).await;
        let first = first_copy(table);
        self.commit(table, first.clone(), &format!("create table {name} as select * from {first}")).await
    }

    async fn commit(&self, table: usize, copy: String, write: &str) -> Result<(), BenchError> {
        self.history.versions.lock().announce(table, copy);
        self.session.run(write).await?;
        self.history.versions.lock().commit();
        self.history.tally.versions.add(1);
        Ok(())
    }
}
