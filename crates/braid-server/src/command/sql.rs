//! `braid sql`: statements from the command line or standard input, their results on standard output.
//!
//! The data directory is opened by the command itself, for the superuser or the role of `--user`; when a server has it, that server is
//! asked. Either way the
//! statements go through the wire protocol (in the first case over a pair of sockets within the process), so that
//! both answer the same. `COPY … FROM STDIN` and `TO STDOUT` move bytes between the command's own standard streams and
//! the table.

use std::io::{IsTerminal, Read, Write};

use braid_engine::{SqlState, Statement, StatementKind};
use braid_server::serve_local;
use bytes::Bytes;
use futures::{SinkExt, StreamExt, TryStreamExt, pin_mut};
use tokio_postgres::{Client, NoTls, SimpleQueryMessage};

use super::CommandError;
use super::open::{DataOption, DatabaseOptions};
use super::password::PasswordOptions;
use super::result_writer::{OutputFormat, ResultWriter};
use super::server_address::{Published, published};
use super::user::UserOption;

/// Options of `braid sql`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Options {
    /// The statements; read from standard input if missing.
    statements: Option<String>,
    /// Output format of the rows.
    #[arg(long, value_enum, default_value_t = OutputFormat::Table)]
    format: OutputFormat,
    #[command(flatten)]
    data: DataOption,
    #[command(flatten)]
    user: UserOption,
    #[command(flatten)]
    password: PasswordOptions,
    #[command(flatten)]
    database: DatabaseOptions,
}

/// Bytes of COPY data sent at a time.
const COPY_PIECE_BYTES: usize = 64 << 10;

/// Runs the command.
pub(crate) async fn run(options: Options) -> Result<(), CommandError> {
    let text = match &options.statements {
        Some(text) => text.clone(),
        None => read_statements()?,
    };
    let statements = Statement::parse(&text)?;
    let client = match options.database.open(&options.data.data).await {
        Ok(database) => {
            let user = options.user.local(database.superuser_name());
            let socket = serve_local(database).map_err(CommandError::io("cannot create a pair of sockets"))?;
            let (client, connection) = config(&user).connect_raw(socket, NoTls).await.map_err(login_error)?;
            tokio::spawn(connection);
            client
        }
        Err(CommandError::Engine(error)) if error.state() == SqlState::ObjectInUse => {
            ask_server(&options).await?.ok_or(CommandError::Engine(error))?
        }
        Err(error) => return Err(error),
    };
    for statement in &statements {
        match copied_stream(statement) {
            Some(StatementKind::CopyFrom) => copy_in(&client, statement.text()).await?,
            Some(_) => copy_out(&client, statement.text()).await?,
            None => run_statement(&client, statement, options.format).await?,
        }
    }
    Ok(())
}

fn read_statements() -> Result<String, CommandError> {
    if std::io::stdin().is_terminal() {
        return Err(CommandError::Usage("the statement is missing: braid sql 'select 1'".into()));
    }
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).map_err(CommandError::io("cannot read standard input"))?;
    Ok(text)
}

fn config(user: &str) -> tokio_postgres::Config {
    let mut config = tokio_postgres::Config::new();
    config.user(user).application_name("braid sql");
    config
}

/// The error of a connection, which says what to do if the user is refused (class 28) and the server does not say it.
fn login_error(error: tokio_postgres::Error) -> CommandError {
    let is_refused = |told: &tokio_postgres::error::DbError| told.code().code().starts_with("28");
    match error.as_db_error().is_some_and(|told| is_refused(told) && told.hint().is_none()) {
        true => CommandError::Login(error),
        false => CommandError::Client(error),
    }
}

/// Connects to the server that has the data directory, if it says where it is.
async fn ask_server(options: &Options) -> Result<Option<Client>, CommandError> {
    let Some(Published { address, superuser }) = published(&options.data.data) else {
        return Ok(None);
    };
    let mut config = config(&options.user.remote(superuser));
    config.host(address.ip().to_string()).port(address.port());
    if let Some(password) = options.password.read()? {
        config.password(password);
    }
    let (client, connection) = config.connect(NoTls).await.map_err(login_error)?;
    tokio::spawn(connection);
    Ok(Some(client))
}

/// Runs one statement and prints its rows as they come (a table: at the end, when its widths are known).
async fn run_statement(client: &Client, statement: &Statement, format: OutputFormat) -> Result<(), CommandError> {
    let answers_rows = matches!(
        statement.kind(),
        StatementKind::Query
            | StatementKind::ChangingQuery
            | StatementKind::LockingQuery
            | StatementKind::Execute
            | StatementKind::Explain
            | StatementKind::Show
    );
    let types = match format {
        // What is a number and what a text shows only in the extended protocol.
        OutputFormat::Json if answers_rows => {
            client.prepare(statement.text()).await?.columns().iter().map(|c| c.type_().clone()).collect()
        }
        _ => Vec::new(),
    };
    let mut writer = ResultWriter::new(std::io::BufWriter::new(std::io::stdout()), format, types);
    let messages = client.simple_query_raw(statement.text()).await?;
    pin_mut!(messages);
    let write_error = |source| CommandError::Io { what: "cannot write the result".to_owned(), source };
    while let Some(message) = messages.try_next().await? {
        match message {
            SimpleQueryMessage::RowDescription(columns) => {
                writer.begin(columns.iter().map(|c| c.name().to_owned()).collect()).map_err(write_error)?;
            }
            SimpleQueryMessage::Row(row) => {
                writer.row((0..row.len()).map(|at| row.get(at))).map_err(write_error)?;
            }
            _ => {}
        }
    }
    writer.finish().map_err(write_error)
}

/// Whether a statement copies from standard input or to standard output.
fn copied_stream(statement: &Statement) -> Option<StatementKind> {
    let stream = match statement.kind() {
        StatementKind::CopyFrom => "stdin",
        StatementKind::CopyTo => "stdout",
        _ => return None,
    };
    let mut words = statement.text().split(|c: char| c.is_whitespace() || c == '(' || c == ';');
    words.any(|word| word.eq_ignore_ascii_case(stream)).then(|| statement.kind())
}

async fn copy_in(client: &Client, sql: &str) -> Result<(), CommandError> {
    let sink = client.copy_in::<_, Bytes>(sql).await?;
    pin_mut!(sink);
    loop {
        // Standard input blocks; another thread waits for it.
        let piece = tokio::task::spawn_blocking(read_piece).await.unwrap_or_else(|panic| Err(panic.into()));
        let piece = piece.map_err(CommandError::io("cannot read standard input"))?;
        if piece.is_empty() {
            break;
        }
        sink.send(Bytes::from(piece)).await?;
    }
    println!("COPY {}", sink.finish().await?);
    Ok(())
}

fn read_piece() -> std::io::Result<Vec<u8>> {
    let mut piece = Vec::with_capacity(COPY_PIECE_BYTES);
    std::io::stdin().lock().take(COPY_PIECE_BYTES as u64).read_to_end(&mut piece)?;
    Ok(piece)
}

async fn copy_out(client: &Client, sql: &str) -> Result<(), CommandError> {
    let stream = client.copy_out(sql).await?;
    pin_mut!(stream);
    let mut stdout = std::io::stdout();
    while let Some(piece) = stream.next().await {
        stdout.write_all(&piece?).map_err(CommandError::io("cannot write the result"))?;
    }
    stdout.flush().map_err(CommandError::io("cannot write the result"))
}
