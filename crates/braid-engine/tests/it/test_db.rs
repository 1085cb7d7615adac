//! A database on a temporary directory, and SQL on it as one line.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use arrow::array::{Array, ArrayRef, StringArray};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use braid_base::ByteSize;
use braid_engine::{
    Config, Database, EngineError, Outcome, ParameterType, ParameterValue, Prepared, Session, Statement,
    texts_with_bytes,
};
use braid_testing::{PAUSE, Wait, in_time};
use bytes::Bytes;
use futures::StreamExt;
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Longer than a statement that does not wait takes.
pub const SOON: Duration = Duration::from_millis(100);

/// A database that vanishes with the test.
pub struct TestDb {
    pub dir: TempDir,
    pub database: Arc<Database>,
    pub session: Session,
}

/// A small configuration in `dir`.
pub fn config(dir: &Path) -> Config {
    let mut config = Config::new(dir);
    config.buffer = ByteSize::mib(64);
    config.query_memory = ByteSize::mib(64);
    config.total_memory = ByteSize::mib(256);
    config.target_partitions = 2;
    config
}

impl TestDb {
    pub async fn new() -> Self {
        let dir = TempDir::new().unwrap();
        let database = Database::open(config(dir.path())).await.unwrap();
        let session = database.session("alice");
        Self { dir, database, session }
    }

    /// Closes the database and opens it again.
    pub async fn reopened(self) -> Self {
        let Self { dir, database, session } = self;
        drop((database, session));
        let wait = Wait::new("the data directory to be released");
        let database = loop {
            match Database::open(config(dir.path())).await {
                Err(error) if error.sqlstate() == "55006" => wait.check(|| error.message().to_owned()),
                opened => break opened.unwrap(),
            }
            tokio::time::sleep(PAUSE).await;
        };
        let session = database.session("alice");
        Self { dir, database, session }
    }

    /// Runs one or more statements, which must all succeed. Returns the output of the last one.
    pub async fn run(&self, sql: &str) -> String {
        run(&self.session, sql).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"))
    }

    /// Runs statements. One must fail; returns its SQLSTATE and message.
    pub async fn fail(&self, sql: &str) -> EngineError {
        match run(&self.session, sql).await {
            Ok(printed) => panic!("{sql} should have failed, it answered {printed}"),
            Err(error) => error,
        }
    }

    /// Runs statements. One must fail; returns its SQLSTATE.
    pub async fn state(&self, sql: &str) -> &'static str {
        self.fail(sql).await.sqlstate()
    }

    /// Waits until queries hold neither memory nor files, and scan nothing: their tasks let go of it soon after their ends.
    pub async fn until_nothing_is_held(&self) {
        let wait = Wait::new("queries to hold nothing");
        loop {
            let (memory, disk) = (self.database.memory().used(), self.database.spill_space().used());
            let scans = self.database.buffer().stats().scans;
            if (memory.0, disk.0, scans) == (0, 0, 0) {
                return;
            }
            wait.check(|| format!("{memory} of memory, {disk} of files and {scans} scans are held"));
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Checks a list of statements against what they print.
    pub async fn check(&self, cases: &[(&str, &str)]) {
        for (sql, expected) in cases {
            assert_eq!(self.run(sql).await, *expected, "{sql}");
        }
    }

    /// Checks a list of statements against the SQLSTATE they fail with.
    pub async fn check_states(&self, cases: &[(&str, &str)]) {
        for (sql, expected) in cases {
            let error = self.fail(sql).await;
            assert_eq!(error.sqlstate(), *expected, "{sql}: {error:?}");
        }
    }
}

/// Runs statements one by one; answers what the last one printed.
pub async fn run(session: &Session, sql: &str) -> Result<String, EngineError> {
    let mut printed = String::new();
    for piece in sql.split(";;") {
        for statement in session.parse(piece)? {
            printed = run_one(session, &statement, vec![]).await?;
        }
    }
    Ok(printed)
}

/// Runs a statement that waits for another session until `ends` has run; returns its answer.
pub async fn waits(session: &Session, sql: &str, ends: impl Future<Output = ()>) -> Result<String, String> {
    let mut waiting = Box::pin(run(session, sql));
    assert!(tokio::time::timeout(SOON, &mut waiting).await.is_err(), "it waits: {sql}");
    ends.await;
    let answer = in_time(format!("the answer of {sql}"), waiting).await;
    answer.map_err(|error| error.sqlstate().to_owned())
}

/// Begins a statement of a session, and returns when it waits for a lock.
pub async fn begun_to_wait(db: &TestDb, session: &Session, sql: &str) -> JoinHandle<Result<String, EngineError>> {
    let (session, sql) = (session.clone(), sql.to_owned());
    let before = db.run("select count(*) from pg_locks where not granted").await;
    let waiting = tokio::spawn(async move { run(&session, &sql).await });
    let wait = Wait::new("a statement to wait for a lock");
    while db.run("select count(*) from pg_locks where not granted").await == before {
        wait.check(String::new);
        tokio::time::sleep(PAUSE).await;
    }
    waiting
}

/// The answer of a statement that has waited; its SQLSTATE if it failed.
pub async fn answer_of(waiting: JoinHandle<Result<String, EngineError>>) -> Result<String, String> {
    let answer = in_time("the answer of a statement that has waited", waiting).await.unwrap();
    answer.map_err(|error| error.sqlstate().to_owned())
}

/// The texts of a column, if it has them beside other forms.
fn shown(array: &ArrayRef) -> &dyn Array {
    texts_with_bytes(array).map_or(array, |(texts, _)| texts)
}

/// Runs a statement: rows as `1|a` lines, otherwise the tag.
pub async fn run_one(
    session: &Session,
    statement: &Statement,
    params: Vec<ParameterValue>,
) -> Result<String, EngineError> {
    match session.execute(statement, params, CancellationToken::new()).await? {
        Outcome::Done { tag } => Ok(tag),
        Outcome::Rows { mut stream, schema, .. } => {
            let mut lines = Vec::new();
            while let Some(batch) = stream.next().await {
                let batch = batch?;
                assert_eq!(batch.schema(), schema, "the stream keeps the promised schema");
                let options = FormatOptions::default().with_null("NULL");
                let columns: Vec<ArrayFormatter<'_>> = batch
                    .columns()
                    .iter()
                    .map(|array| ArrayFormatter::try_new(shown(array), &options).unwrap())
                    .collect();
                for row in 0..batch.num_rows() {
                    let values: Vec<String> = columns.iter().map(|column| column.value(row).to_string()).collect();
                    lines.push(values.join("|"));
                }
            }
            Ok(lines.join("\n"))
        }
        Outcome::CopyOut(mut copy) => {
            let mut out = String::new();
            while let Some(records) = copy.next().await {
                out.push_str(records?.text());
            }
            Ok(out)
        }
        Outcome::CopyIn(_) => panic!("COPY FROM STDIN needs data"),
    }
}

/// The only value of an array, as a parameter.
pub fn value(array: impl Array + 'static) -> ParameterValue {
    let array: ArrayRef = Arc::new(array);
    ParameterValue::of(&array).unwrap()
}

/// The type of a parameter, as a client declares it.
pub fn declared(oid: u32) -> Option<ParameterType> {
    Some(ParameterType { oid })
}

/// The oids of the types of a statement's parameters.
pub fn parameter_types(prepared: &Prepared) -> String {
    prepared.parameter_types.iter().map(|parameter| parameter.oid.to_string()).collect::<Vec<_>>().join(" ")
}

/// A text, as a parameter.
pub fn text_value(text: &str) -> ParameterValue {
    value(StringArray::from_iter_values([text]))
}

/// The names of a query's columns.
pub async fn column_names(session: &Session, sql: &str) -> String {
    let statement = session.parse(sql).unwrap().remove(0);
    match session.execute(&statement, vec![], CancellationToken::new()).await.unwrap() {
        Outcome::Rows { schema, .. } => {
            schema.fields().iter().map(|field| field.name().clone()).collect::<Vec<_>>().join(" ")
        }
        other => panic!("{other:?}"),
    }
}

/// COPY FROM STDIN with `data`, cut into pieces.
pub async fn copy_in(session: &Session, sql: &str, data: &str, piece: usize) -> Result<u64, EngineError> {
    copy_bytes_in(session, sql, data.as_bytes(), piece).await
}

/// The same for data that is no text.
pub async fn copy_bytes_in(session: &Session, sql: &str, data: &[u8], piece: usize) -> Result<u64, EngineError> {
    let statement = session.parse(sql)?.remove(0);
    let outcome = session.execute(&statement, vec![], CancellationToken::new()).await?;
    let Outcome::CopyIn(mut copy) = outcome else { panic!("{outcome:?}") };
    for bytes in data.chunks(piece) {
        copy.data(Bytes::copy_from_slice(bytes)).await?;
    }
    copy.finish().await
}
