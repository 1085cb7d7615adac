//! What rules make of queries, as text: the blocks of the files in `plans`.
//!
//! A block has lines that begin with `#`, of which the first one names the rule, the query, a line `----`, and the plan. An empty line ends
//! it. With the environment variable `BRAID_WRITE_PLANS` the files are written anew, to be read and committed.

use braid_sql::relation::ColumnId;
use braid_sql::testing::FixedSession;

use super::bound;
use super::rows::RULES;

/// The plan of a query after a rule.
fn plan(name: &str, sql: &str) -> String {
    let (_, rule) = RULES.iter().find(|(own, _)| *own == name).unwrap_or_else(|| panic!("{name} is no rule"));
    let (query, mut columns) = bound(sql).unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    let outputs: Vec<ColumnId> = query.outputs.iter().map(|output| output.column).collect();
    rule(query.relation, &outputs, &mut columns).text(&columns, &FixedSession)
}

/// Compares the plans of a file with those that `plan` makes of the first line of comments and the query.
pub(super) fn check_file(name: &str, plan: impl Fn(&str, &str) -> String) {
    let path = format!("{}/src/rewriting/tests/plans/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    let expected = std::fs::read_to_string(&path).unwrap();
    let mut found = String::new();
    for block in expected.split("\n\n").map(str::trim).filter(|block| !block.is_empty()) {
        let (head, _) = block.split_once("\n----").unwrap_or((block, ""));
        let (comments, sql): (Vec<&str>, Vec<&str>) = head.lines().partition(|line| line.starts_with('#'));
        let first = comments.first().unwrap_or_else(|| panic!("{block} names nothing"));
        let text = plan(first.trim_start_matches('#').trim(), &sql.join("\n"));
        found += &format!("{head}\n----\n{text}\n");
    }
    if std::env::var_os("BRAID_WRITE_PLANS").is_some() {
        std::fs::write(&path, &found).unwrap();
        return;
    }
    let (expected, found): (Vec<&str>, Vec<&str>) = (expected.trim().lines().collect(), found.trim().lines().collect());
    assert_eq!(expected, found, "{}", found.join("\n"));
}

#[test]
fn rules_make_these_plans() {
    check_file("rules", plan);
}
