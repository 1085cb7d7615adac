//! The lists of a history: where they are stored, and the statements that append to them and read them.
//!
//! A few lists are in use at a time, so that transactions meet. A list that has many elements is left, and another one taken.

use parking_lot::Mutex;

use crate::BenchError;
use crate::drivers::wire_session::WireSession;
use crate::workloads::histories::statements::Statement;
use crate::workloads::random_sql::draw::Draw;

/// Appends to a list until it is left.
const APPENDS_MAX: u64 = 40;

/// Most appends of a transaction.
pub(super) const APPENDS_OF_TRANSACTION_MAX: u64 = 4;

/// Fewest lists in use.
const IN_USE_MIN: usize = 6;

/// How a list is stored. Each is another way through storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Storage {
    /// A text by primary key: upserts and look-ups.
    Keyed,
    /// A text in a table without a key: updates and scans.
    Scanned,
    /// A row for each element, unique by list and place: inserts, and reads of ranges.
    Rows,
}

impl Storage {
    pub(super) const ALL: [Self; 3] = [Self::Keyed, Self::Scanned, Self::Rows];

    /// That of a list.
    fn of(key: u64) -> Self {
        Self::ALL[(key % Self::ALL.len() as u64) as usize]
    }

    /// Its table.
    pub(super) fn table(self) -> &'static str {
        match self {
            Self::Keyed => "lists_keyed",
            Self::Scanned => "lists_scanned",
            Self::Rows => "list_elements",
        }
    }

    /// All its lists with their elements, as keys and texts.
    pub(super) fn all(self) -> &'static str {
        match self {
            Self::Keyed => "select k, v from lists_keyed",
            Self::Scanned => "select k, v from lists_scanned where v <> ''",
            Self::Rows => "select k, string_agg(e::text, ' ' order by n) from list_elements group by k",
        }
    }
}

/// A list in use.
#[derive(Clone, Copy, Debug)]
struct InUse {
    key: u64,
    appends: u64,
}

struct Growth {
    in_use: Vec<InUse>,
    next_key: u64,
    next_element: u64,
}

/// The lists.
pub(super) struct Lists {
    growth: Mutex<Growth>,
    /// More keys than so many transactions can take.
    key_count: u64,
}

impl Lists {
    /// Lists for clients that run so many transactions.
    pub(super) fn new(clients: usize, transactions: u64) -> Self {
        let in_use: Vec<InUse> = (0..clients.max(IN_USE_MIN) as u64).map(|key| InUse { key, appends: 0 }).collect();
        let next_key = in_use.len() as u64;
        let key_count = next_key + transactions * APPENDS_OF_TRANSACTION_MAX / APPENDS_MAX + 1;
        Self { growth: Mutex::new(Growth { in_use, next_key, next_element: 1 }), key_count }
    }

    /// Makes their tables anew.
    pub(super) async fn make(&self, session: &WireSession) -> Result<(), BenchError> {
        let tables = format!(
            "drop table if exists lists_keyed, lists_scanned, list_elements;
             create table lists_keyed (k bigint primary key, v text not null);
             create table lists_scanned (k bigint, v text not null);
             insert into lists_scanned select k, '' from generate_series(0, {}) as s(k);
             create table list_elements (k bigint, n bigint, e bigint not null, primary key (k, n))",
            self.key_count
        );
        session.run(&tables).await
    }

    /// A list in use.
    pub(super) fn any(&self, draw: &mut Draw) -> u64 {
        draw.choose(&self.growth.lock().in_use).key
    }

    /// A list in use, and an element that is in none.
    pub(super) fn to_append(&self, draw: &mut Draw) -> (u64, u64) {
        let mut growth = self.growth.lock();
        let at = draw.below(growth.in_use.len());
        let (key, element, next_key) = (growth.in_use[at].key, growth.next_element, growth.next_key);
        growth.next_element += 1;
        growth.in_use[at].appends += 1;
        if growth.in_use[at].appends == APPENDS_MAX {
            growth.in_use[at] = InUse { key: next_key, appends: 0 };
            growth.next_key += 1;
        }
        (key, element)
    }

    /// The lists that were in use.
    pub(super) fn keys(&self) -> std::ops::Range<u64> {
        0..self.growth.lock().next_key
    }
}

/// Appends an element.
pub(super) fn append(key: u64, element: u64, is_prepared: bool) -> Statement {
    let (key, element) = (key.to_string(), element.to_string());
    match Storage::of(key.parse().expect("a number")) {
        Storage::Keyed => statement(
            "insert into lists_keyed values ($1::bigint, $2::text) \
             on conflict (k) do update set v = lists_keyed.v || ' ' || excluded.v",
            [key, element],
            is_prepared,
        ),
        Storage::Scanned => statement(
            "update lists_scanned set v = v || ' ' || $2::text where k = $1::bigint",
            [key, element],
            is_prepared,
        ),
        Storage::Rows => statement(
            "insert into list_elements select $1::bigint, count(*), $2::bigint from list_elements where k = $1::bigint",
            [key, element],
            is_prepared,
        ),
    }
}

/// Whether a statement inserts an element at a place of its list, which only one element can have.
pub(super) fn takes_a_place(statement: &str) -> bool {
    statement.starts_with("insert into list_elements")
}

/// Reads a list: a text of all elements, or a row for each.
pub(super) fn read(key: u64, is_prepared: bool) -> Statement {
    let text = match Storage::of(key) {
        Storage::Keyed => "select v from lists_keyed where k = $1::bigint",
        Storage::Scanned => "select max(v) from lists_scanned where k = $1::bigint",
        Storage::Rows => "select e::text from list_elements where k = $1::bigint order by n",
    };
    statement(text, [key.to_string()], is_prepared)
}

/// The elements in what [`read`] gave.
pub(super) fn elements<'a>(texts: impl IntoIterator<Item = &'a str>) -> Result<Vec<u64>, BenchError> {
    let elements = texts.into_iter().flat_map(str::split_ascii_whitespace);
    elements
        .map(|element| element.parse().map_err(|e| BenchError::other(format!("the element {element:?}"), e)))
        .collect()
}

/// With parameters if it is prepared, otherwise with literals.
fn statement<const N: usize>(text: &str, parameters: [String; N], is_prepared: bool) -> Statement {
    if is_prepared {
        return Statement { text: text.to_owned(), parameters: Some(parameters.to_vec()) };
    }
    let quoted =
        |text: String, (at, value): (usize, &String)| text.replace(&format!("${}", at + 1), &format!("'{value}'"));
    Statement { text: parameters.iter().enumerate().fold(text.to_owned(), quoted), parameters: None }
}
