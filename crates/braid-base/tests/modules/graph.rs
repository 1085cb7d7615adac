//! Which modules of a room import which, and the cycles among them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::modules::{Import, Modules, Names};

/// An import of one module by another, by name.
pub type Edge = (String, String);

/// The modules directly within a room (the crate itself, or one of its folders), with the imports among them.
#[derive(Debug, Default)]
pub struct ModuleGraph {
    /// Every place where the first module imports the second.
    pub edges: BTreeMap<Edge, Vec<Import>>,
}

impl ModuleGraph {
    /// The graph of the modules directly within `room`; an empty room is the crate.
    pub fn of_room(modules: &Modules, room: &[String]) -> Self {
        let mut edges: BTreeMap<Edge, Vec<Import>> = BTreeMap::new();
        let inside = modules.iter().filter(|(path, _)| path.len() > room.len() && path.starts_with(room));
        for (path, module) in inside {
            let importer = &path[room.len()];
            for import in &module.imports {
                if let Some(imported) = module_of(modules, room, &import.target, 0).filter(|found| found != importer) {
                    edges.entry((importer.clone(), imported)).or_default().push(import.clone());
                }
            }
        }
        Self { edges }
    }

    /// A shortest cycle without the edges in `without`; empty without cycles.
    pub fn shortest_cycle(&self, without: &BTreeSet<Edge>) -> Vec<Edge> {
        let cycles = self.edges.keys().filter(|edge| !without.contains(*edge)).filter_map(|edge| {
            let back = self.shortest_path(&edge.1, &edge.0, without)?;
            Some([vec![edge.clone()], back].concat())
        });
        cycles.min_by_key(Vec::len).unwrap_or_default()
    }

    /// The edges of a shortest path; `None` if there is no path.
    fn shortest_path(&self, from: &str, to: &str, without: &BTreeSet<Edge>) -> Option<Vec<Edge>> {
        let mut came_by: BTreeMap<&str, Edge> = BTreeMap::new();
        let mut queue = VecDeque::from([from]);
        while let Some(module) = queue.pop_front() {
            if module == to {
                return Some(path_to(to, from, &came_by));
            }
            for edge in self.edges.keys().filter(|edge| edge.0 == module && !without.contains(*edge)) {
                if edge.1 != from && !came_by.contains_key(edge.1.as_str()) {
                    came_by.insert(&edge.1, edge.clone());
                    queue.push_back(&edge.1);
                }
            }
        }
        None
    }

    /// Edges without which nothing is a cycle, each of them needed, with few imports: a proposal where to cut.
    pub fn cuts(&self, already_cut: &BTreeSet<Edge>) -> Vec<Edge> {
        let mut cut = already_cut.clone();
        let mut proposed = Vec::new();
        loop {
            let cycle = self.shortest_cycle(&cut);
            let Some(edge) = cycle.into_iter().min_by_key(|edge| self.edges[edge].len()) else { break };
            cut.insert(edge.clone());
            proposed.push(edge);
        }
        for edge in proposed.clone() {
            cut.remove(&edge);
            if self.shortest_cycle(&cut).is_empty() {
                proposed.retain(|other| *other != edge);
            } else {
                cut.insert(edge);
            }
        }
        proposed
    }

    /// An edge with the first place where it is.
    pub fn show(&self, edge: &Edge) -> String {
        let imports = &self.edges[edge];
        let Import { file, line, target } = &imports[0];
        let (from, to, more) = (&edge.0, &edge.1, imports.len() - 1);
        let more = if more > 0 { format!(", and {more} more") } else { String::new() };
        format!("{from} -> {to}: {}:{line} imports {}{more}", file.display(), target.join("::"))
    }
}

fn path_to(to: &str, from: &str, came_by: &BTreeMap<&str, Edge>) -> Vec<Edge> {
    let (mut path, mut at) = (Vec::new(), to);
    while at != from {
        let edge = &came_by[at];
        path.push(edge.clone());
        at = &edge.0;
    }
    path.reverse();
    path
}

/// Re-exports that lead from one to the next; more than any crate has.
const RE_EXPORTS_MAX: usize = 8;

/// The module directly within `room` that `target` belongs to, through re-exports where needed.
fn module_of(modules: &Modules, room: &[String], target: &[String], followed: usize) -> Option<String> {
    let mut module: Names = Vec::new();
    for (at, name) in target.iter().enumerate() {
        let found = modules.get(&module)?;
        if !found.children.contains(name) {
            let re_export = found.names.get(name)?;
            let behind = [re_export.as_slice(), &target[at + 1..]].concat();
            return (followed < RE_EXPORTS_MAX).then(|| module_of(modules, room, &behind, followed + 1))?;
        }
        if module == room {
            return Some(name.clone());
        }
        module.push(name.clone());
    }
    None
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::modules::read_modules;

    fn graph(files: &[(&str, &str)], room: &[&str]) -> ModuleGraph {
        let source = files.iter().map(|(path, text)| (PathBuf::from(path), (*text).to_owned())).collect();
        let room: Names = room.iter().map(|name| (*name).to_owned()).collect();
        ModuleGraph::of_room(&read_modules(&source), &room)
    }

    fn edge(from: &str, to: &str) -> Edge {
        (from.to_owned(), to.to_owned())
    }

    #[test]
    fn a_cycle_through_a_re_export_is_found_and_cut() {
        let files = [
            ("lib.rs", "mod a; mod b; mod c; pub use c::C;"),
            ("a.rs", "use crate::b::B; use crate::b::B2;"),
            ("b.rs", "use crate::C;"),
            ("c/mod.rs", "mod deep; use crate::a::A; pub struct C;"),
            ("c/deep.rs", "use super::C; use crate::b::B;"),
        ];
        let graph = graph(&files, &[]);
        let edges: Vec<Edge> = graph.edges.keys().cloned().collect();
        assert_eq!(edges, [edge("a", "b"), edge("b", "c"), edge("c", "a"), edge("c", "b")]);
        assert_eq!(graph.shortest_cycle(&BTreeSet::new()), [edge("b", "c"), edge("c", "b")]);
        let cuts = graph.cuts(&BTreeSet::new());
        assert_eq!(cuts, [edge("b", "c")], "cuts both cycles");
        assert_eq!(graph.shortest_cycle(&cuts.into_iter().collect()), []);
        assert_eq!(graph.show(&edge("a", "b")), "a -> b: a.rs:1 imports b::B, and 1 more");
    }

    #[test]
    fn a_room_has_a_graph_of_its_own() {
        let files = [
            ("lib.rs", "mod room; mod other; pub use room::X;"),
            ("other.rs", "use crate::room::x;"),
            ("room/mod.rs", "pub mod x; pub mod y; pub use x::X;"),
            ("room/x.rs", "use super::y::Y; use crate::other::O; pub struct X;"),
            ("room/y.rs", "use crate::X;"),
        ];
        let inside = graph(&files, &["room"]);
        assert_eq!(inside.edges.keys().cloned().collect::<Vec<_>>(), [edge("x", "y"), edge("y", "x")]);
        let whole = graph(&files, &[]);
        assert_eq!(whole.edges.keys().cloned().collect::<Vec<_>>(), [edge("other", "room"), edge("room", "other")]);
    }
}
