//! Within a crate, too, modules import in one direction: a cycle between two of them means that neither can be read,
//! tested or moved without the other. This test reads the source and fails on every cycle that the table of
//! [`exceptions`] does not break, and on every exception that breaks no cycle any more.

mod exceptions;
mod graph;
mod modules;
mod tokens;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use exceptions::{EXCEPTIONS, ROOMS};
use graph::{Edge, ModuleGraph};
use modules::{Names, read_modules};

/// All Rust files below `folder`, by their path within it.
fn read_source(folder: &Path, below: &Path, source: &mut BTreeMap<PathBuf, String>) {
    let path = folder.join(below);
    for entry in std::fs::read_dir(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display())) {
        let entry = entry.expect("a folder of the checkout can be listed");
        let inner = below.join(entry.file_name());
        if entry.path().is_dir() {
            read_source(folder, &inner, source);
        } else if inner.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(entry.path());
            source.insert(inner, text.unwrap_or_else(|error| panic!("{}: {error}", entry.path().display())));
        }
    }
}

/// What is wrong in one room: cycles that no exception breaks, exceptions that break none.
fn faults(name: &str, graph: &ModuleGraph, exceptions: &[(&str, &str)]) -> Vec<String> {
    let excepted: BTreeSet<Edge> = exceptions.iter().map(|(from, to)| ((*from).into(), (*to).into())).collect();
    let mut faults = Vec::new();
    for edge in &excepted {
        let mut others = excepted.clone();
        others.remove(edge);
        let shown = format!("(\"{name}\", \"{}\", \"{}\", …)", edge.0, edge.1);
        if !graph.edges.contains_key(edge) {
            faults.push(format!("{shown}: there is no such import any more; take it out of the exceptions"));
        } else if graph.shortest_cycle(&others).is_empty() {
            faults.push(format!("{shown} breaks no cycle any more; take it out of the exceptions"));
        }
    }
    let cycle = graph.shortest_cycle(&excepted);
    if !cycle.is_empty() {
        let lines: Vec<String> = cycle.iter().map(|edge| format!("    {}", graph.show(edge))).collect();
        let cuts: Vec<String> = graph.cuts(&excepted).iter().map(|edge| format!("    {}", graph.show(edge))).collect();
        faults.push(format!(
            "{name}: modules import each other in a cycle:\n{}\n  without these imports there would be no cycle:\n{}",
            lines.join("\n"),
            cuts.join("\n")
        ));
    }
    faults
}

#[test]
fn modules_import_in_one_direction() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut found = Vec::new();
    for room in ROOMS {
        let (package, path) = room.split_once("::").unwrap_or((room, ""));
        let mut source = BTreeMap::new();
        read_source(&crates.join(package).join("src"), Path::new(""), &mut source);
        let path: Names = path.split("::").filter(|name| !name.is_empty()).map(str::to_owned).collect();
        let graph = ModuleGraph::of_room(&read_modules(&source), &path);
        assert!(!graph.edges.is_empty(), "{room}: no module imports another; is it still there?");
        let excepted = EXCEPTIONS.iter().filter(|exception| exception.0 == *room);
        let excepted: Vec<(&str, &str)> = excepted.map(|(_, from, to, _)| (*from, *to)).collect();
        found.extend(faults(room, &graph, &excepted));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn every_exception_is_of_a_room_and_has_a_reason() {
    for (room, from, to, reason) in EXCEPTIONS {
        assert!(ROOMS.contains(room), "{room} is not among the rooms");
        assert!(reason.len() > 20, "{room}: {from} -> {to}: why?");
    }
}

#[test]
fn a_cycle_an_idle_exception_and_a_missing_one_are_faults() {
    let source = |files: &[(&str, &str)]| {
        let source = files.iter().map(|(path, text)| (PathBuf::from(path), (*text).to_owned())).collect();
        ModuleGraph::of_room(&read_modules(&source), &[])
    };
    let cyclic = source(&[("lib.rs", "mod a; mod b;"), ("a.rs", "use crate::b::B;"), ("b.rs", "use crate::a::A;")]);
    assert!(faults("x", &cyclic, &[]).concat().contains("a -> b: a.rs:1 imports b::B"));
    assert_eq!(faults("x", &cyclic, &[("a", "b")]), Vec::<String>::new());
    assert_eq!(faults("x", &cyclic, &[("a", "b"), ("b", "a")]).len(), 2, "either would do");
    let straight = source(&[("lib.rs", "mod a; mod b;"), ("a.rs", "use crate::b::B;"), ("b.rs", "")]);
    assert!(faults("x", &straight, &[("a", "b")]).concat().contains("breaks no cycle"));
    assert!(faults("x", &straight, &[("b", "a")]).concat().contains("no such import"));
}
