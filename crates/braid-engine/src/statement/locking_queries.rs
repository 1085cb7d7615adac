//! Subqueries that lock rows (`FOR UPDATE` and the like) as queries of WITH, which run before what reads them.
//!
//! `DELETE FROM t WHERE a = (SELECT a FROM t LIMIT 1 FOR UPDATE SKIP LOCKED)` becomes `WITH x AS (SELECT … FOR UPDATE SKIP LOCKED) DELETE
//! FROM t WHERE a = (SELECT * FROM x)`. Such a query may not read rows of the queries around it.

use super::SqlDialect;
use braid_sql::binder::only_column_name;
use braid_sql::syntax::parser_of;
use braid_sql::syntax::walk::{Rewrite, Tree, Walk};
use sqlparser::ast::helpers::attached_token::AttachedToken;
use sqlparser::ast::{Cte, Ident, Query, SetExpr, Statement as Syntax, TableAlias, With};

/// What the names of these queries begin with: no text has it.
const NAME: &str = "\0locked ";

/// Whether a query of WITH was a subquery that locks rows.
pub(crate) fn is_locking_subquery(name: &str) -> bool {
    name.starts_with(NAME)
}

/// Whether a query has a locking clause, itself or in its WITH.
pub(super) fn locks_rows(query: &Query) -> bool {
    let ctes = query.with.iter().flat_map(|with| &with.cte_tables);
    !query.locks.is_empty() || ctes.into_iter().any(|cte| !cte.query.locks.is_empty())
}

/// The statement with its locking subqueries in WITH. One that cannot be there is left where it is, and refused by the binder.
pub(super) fn in_with(statement: Syntax) -> Syntax {
    let mut found = HasLocks(false);
    statement.walk(&mut found);
    if !found.0 {
        return statement;
    }
    let mut query = match &statement {
        Syntax::Query(query) => query.clone(),
        Syntax::Insert(_) => Box::new(query_of(SetExpr::Insert(statement.clone()))),
        Syntax::Update(_) => Box::new(query_of(SetExpr::Update(statement.clone()))),
        Syntax::Delete(_) => Box::new(query_of(SetExpr::Delete(statement.clone()))),
        _ => return statement,
    };
    let (mut moved, mut ctes) = (Moved::default(), Vec::new());
    let with = query.with.take();
    for mut cte in with.iter().flat_map(|with| with.cte_tables.clone()) {
        moved.begin();
        cte.query.rewrite(&mut moved);
        ctes.append(&mut moved.ctes);
        ctes.push(cte);
    }
    moved.begin();
    query.rewrite(&mut moved);
    ctes.append(&mut moved.ctes);
    let is_recursive = with.as_ref().is_some_and(|with| with.recursive);
    if moved.count == 0 || moved.is_refused || is_recursive {
        return statement;
    }
    let with_token = with.map_or_else(AttachedToken::empty, |with| with.with_token);
    query.with = Some(With { with_token, recursive: false, cte_tables: ctes });
    Syntax::Query(query)
}

struct HasLocks(bool);

impl Walk for HasLocks {
    fn enter_query(&mut self, query: &Query) {
        self.0 |= !query.locks.is_empty();
    }
}

/// The locking subqueries that were found.
#[derive(Default)]
struct Moved {
    ctes: Vec<Cte>,
    count: usize,
    /// Queries that are entered and not left.
    depth: usize,
    /// Those of them with a WITH, whose names a query within may read.
    with_count: usize,
    is_refused: bool,
}

impl Moved {
    /// Begins with a query that is not moved itself.
    fn begin(&mut self) {
        (self.depth, self.with_count) = (0, 0);
    }
}

impl Rewrite for Moved {
    fn enter_query(&mut self, query: &mut Query) {
        if self.depth > 0 && !query.locks.is_empty() {
            self.is_refused |= self.with_count > 0;
            let name = Ident::with_quote('"', format!("{NAME}{}", self.count));
            self.count += 1;
            let rows = rows_of(&name, only_column_name(query));
            let mut locking = std::mem::replace(query, rows);
            // Those within come first.
            let (depth, with_count) = (self.depth, self.with_count);
            self.begin();
            locking.rewrite(self);
            (self.depth, self.with_count) = (depth, with_count);
            self.ctes.push(common_table(name, locking));
        }
        self.depth += 1;
        self.with_count += usize::from(query.with.is_some());
    }

    fn leave_query(&mut self, query: &mut Query) {
        self.depth -= 1;
        self.with_count -= usize::from(query.with.is_some());
    }
}

fn common_table(name: Ident, query: Query) -> Cte {
    let alias = TableAlias { explicit: false, name, columns: Vec::new(), at: None };
    Cte { alias, query: Box::new(query), from: None, materialized: None, closing_paren_token: AttachedToken::empty() }
}

/// `SELECT * FROM name`, or its only column, which keeps its name so.
fn rows_of(name: &Ident, column: Option<String>) -> Query {
    let column = column.map_or_else(|| "*".to_owned(), |column| Ident::with_quote('"', column).to_string());
    let text = format!("SELECT {column} FROM {name}");
    let dialect = SqlDialect::for_text(&text);
    let parsed = parser_of(&dialect, &text).and_then(|mut parser| parser.parse_query());
    *parsed.expect("it is a query")
}

/// A query whose body is a statement that changes rows.
fn query_of(body: SetExpr) -> Query {
    Query { body: Box::new(body), ..rows_of(&Ident::new("t"), None) }
}

#[cfg(test)]
mod tests {
    use super::super::{Command, Statement};

    fn read(sql: &str) -> String {
        let statement = Statement::parse(sql).unwrap().remove(0);
        let Command::Sql(tree) = statement.command() else { panic!("{sql}") };
        tree.to_string().replace('\0', "")
    }

    #[test]
    fn the_text_of_a_statement_has_its_locking_clauses() {
        for clauses in
            ["for update", "for no key update of t, t nowait", "for share limit 1", "for update skip locked offset (2)"]
        {
            let sql = format!("select a from t {clauses}");
            let two = format!("{sql} ; {sql}");
            let statements = Statement::parse(&two).unwrap();
            assert!(statements.iter().all(|statement| statement.text() == sql), "{statements:?}");
        }
    }

    #[test]
    fn locking_subqueries_are_queries_of_with() {
        for (sql, expected) in [
            (
                "DELETE FROM t WHERE a IN (SELECT a FROM t FOR UPDATE) RETURNING *",
                "WITH \"locked 0\" AS (SELECT a FROM t FOR UPDATE) DELETE FROM t WHERE a IN (SELECT \"a\" FROM \"locked 0\") RETURNING *",
            ),
            (
                "UPDATE t SET a = 1 FROM (SELECT a FROM u FOR SHARE LIMIT 1) AS v WHERE t.a = v.a",
                "WITH \"locked 0\" AS (SELECT a FROM u LIMIT 1 FOR SHARE) UPDATE t SET a = 1 FROM (SELECT \"a\" FROM \"locked 0\") AS v WHERE t.a = v.a",
            ),
            (
                "INSERT INTO t SELECT a FROM u FOR UPDATE",
                "WITH \"locked 0\" AS (SELECT a FROM u FOR UPDATE) INSERT INTO t SELECT \"a\" FROM \"locked 0\"",
            ),
            (
                "WITH x AS (SELECT 1 FOR UPDATE), y AS (SELECT (SELECT a FROM t FOR UPDATE)) SELECT * FROM y FOR SHARE",
                "WITH x AS (SELECT 1 FOR UPDATE), \"locked 0\" AS (SELECT a FROM t FOR UPDATE), y AS (SELECT (SELECT \"a\" FROM \"locked 0\")) SELECT * FROM y FOR SHARE",
            ),
            (
                "SELECT (SELECT a FROM t WHERE b = (SELECT b FROM u FOR SHARE) FOR UPDATE)",
                "WITH \"locked 1\" AS (SELECT b FROM u FOR SHARE), \"locked 0\" AS (SELECT a FROM t WHERE b = (SELECT \"b\" FROM \"locked 1\") FOR UPDATE) SELECT (SELECT \"a\" FROM \"locked 0\")",
            ),
            // Names of a WITH between would mean something else outside of it.
            (
                "SELECT (WITH x AS (SELECT 1 AS a) SELECT (SELECT a FROM x FOR UPDATE) FROM x)",
                "SELECT (WITH x AS (SELECT 1 AS a) SELECT (SELECT a FROM x FOR UPDATE) FROM x)",
            ),
            ("CREATE TABLE t AS SELECT a FROM u FOR UPDATE", "CREATE TABLE t AS SELECT a FROM u FOR UPDATE"),
        ] {
            assert_eq!(read(sql), expected, "{sql}");
        }
    }
}
