//! `docs/functions.md` says which of PostgreSQL's functions Braid has, those over the system relations included. It is made from the
//! catalog here.

use std::collections::BTreeMap;
use std::path::PathBuf;

use braid_catalog::functions::is_over_relations;
use braid_sql::functions::{implementation_of, set_implementation_of};
use braid_sql::pg_catalog::{FunctionEntry, FunctionKind, pg_catalog};

/// Types that only PostgreSQL's own code passes.
const INTERNAL: [&str; 10] = [
    "internal",
    "cstring",
    "trigger",
    "event_trigger",
    "language_handler",
    "fdw_handler",
    "tsm_handler",
    "table_am_handler",
    "index_am_handler",
    "pg_ddl_command",
];

/// A line's width in the document.
const LINE_CHARACTERS: usize = 128;

/// Whether statements call it.
fn is_public(function: &FunctionEntry) -> bool {
    let types = function.arguments.iter().chain([&function.result]);
    function.kind == FunctionKind::Function
        && types.map(|id| pg_catalog().type_entry(*id).name).all(|name| !INTERNAL.contains(&name))
}

/// For each name, how many functions of it there are, and how many Braid has.
fn counts() -> BTreeMap<&'static str, (usize, usize)> {
    let mut counts = BTreeMap::new();
    for function in pg_catalog().functions().filter(|function| is_public(function)) {
        let (all, here) = counts.entry(function.name).or_insert((0, 0));
        *all += 1;
        let is_here = match function.returns_set {
            true => set_implementation_of(function).is_some(),
            false => implementation_of(function).is_some(),
        };
        let types: Vec<&str> = function.arguments.iter().map(|id| pg_catalog().type_entry(*id).name).collect();
        *here += usize::from(is_here || is_over_relations(function.name, &types));
    }
    counts
}

/// Names as a paragraph.
fn paragraph(names: impl Iterator<Item = String>) -> String {
    let (mut text, mut width) = (String::new(), 0);
    for name in names {
        let word = format!("{name}, ");
        if width + word.len() > LINE_CHARACTERS {
            text = text.trim_end().to_owned() + "\n";
            width = 0;
        }
        width += word.len();
        text.push_str(&word);
    }
    text.trim_end_matches([' ', ',']).to_owned() + "\n"
}

fn document() -> String {
    let counts = counts();
    let (all, here) = counts.values().fold((0, 0), |sum, count| (sum.0 + count.0, sum.1 + count.1));
    let of = |wanted: &dyn Fn(usize, usize) -> bool| {
        let chosen = counts.iter().filter(|(_, (all, here))| wanted(*all, *here));
        paragraph(chosen.map(|(name, (all, here))| match here {
            0 => format!("`{name}`"),
            here if here == all => format!("`{name}`"),
            here => format!("`{name}` ({here} of {all})"),
        }))
    };
    format!(
        "# Functions of PostgreSQL 15 in Braid\n\n\
         Of the {all} functions of `pg_proc` that statements can call (aggregates and window functions apart), Braid has \
         {here}.\nOperators and casts are among them. What it lacks is refused ([sql-dialect.md]\
         (sql-dialect.md)).\n`cargo test -p braid-catalog --test it function_table` compares this page with the code, and writes it with \
         `BRAID_WRITE_DOCS=1`.\n\n\
         ## With all argument types\n\n{}\n## With some argument types\n\n{}\n## Missing\n\n{}",
        of(&|all, here| here == all),
        of(&|all, here| here > 0 && here < all),
        of(&|_, here| here == 0),
    )
}

#[test]
fn the_table_of_functions_is_right() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/functions.md");
    let expected = document();
    if std::env::var_os("BRAID_WRITE_DOCS").is_some() {
        std::fs::write(&path, &expected).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(written == expected, "docs/functions.md differs from the code: run this test with BRAID_WRITE_DOCS=1");
}
