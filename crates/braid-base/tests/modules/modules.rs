//! The modules of a crate and what each of them imports, read from its source.
//!
//! Read are `use` declarations and paths in code that begin with `crate`, `self` or `super`, also within macros. Left out
//! are comments, and whatever `#[cfg(test)]` or `#[cfg(any(test, …))]` leaves out of the production build. A name that
//! `lib.rs` or a room's `mod.rs` re-exports counts as an import of the module it comes from.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::tokens::{Placed, Token, tokens};

/// Names from the crate's root down to a module or an item; empty for the root.
pub type Names = Vec<String>;

/// One import, where it stands.
#[derive(Clone, Debug)]
pub struct Import {
    /// What is imported, from the crate's root.
    pub target: Names,
    /// The importing file, relative to the source folder.
    pub file: PathBuf,
    pub line: usize,
}

/// A module: its children, the names it imports or re-exports, its imports.
#[derive(Debug, Default)]
pub struct Module {
    pub children: BTreeSet<String>,
    /// What `use` brings into the module, by the name it has there.
    pub names: BTreeMap<String, Names>,
    pub imports: Vec<Import>,
}

/// All modules of a crate by their path.
pub type Modules = BTreeMap<Names, Module>;

/// Reads the crate whose root is `lib.rs` in `source`, a map from relative paths to files.
pub fn read_modules(source: &BTreeMap<PathBuf, String>) -> Modules {
    let mut reader = ModuleReader { source, raw: BTreeMap::new() };
    reader.read_file(Path::new("lib.rs"), &[], Path::new(""));
    resolve(reader.raw)
}

/// A path as it stands in the source, before it is known which names are modules.
struct RawPath {
    names: Names,
    /// The name it gets by `use`, if it is a `use`.
    used_as: Option<String>,
    file: PathBuf,
    line: usize,
}

#[derive(Default)]
struct RawModule {
    children: BTreeSet<String>,
    paths: Vec<RawPath>,
}

struct ModuleReader<'a> {
    source: &'a BTreeMap<PathBuf, String>,
    raw: BTreeMap<Names, RawModule>,
}

impl ModuleReader<'_> {
    /// Reads the file of `module`, whose children lie in `folder`.
    fn read_file(&mut self, file: &Path, module: &[String], folder: &Path) {
        let text = self.source.get(file).unwrap_or_else(|| panic!("{} is declared and missing", file.display()));
        let tokens = tokens(text);
        self.read_tokens(&tokens, file, module, folder);
    }

    fn read_tokens(&mut self, tokens: &[Placed], file: &Path, module: &[String], folder: &Path) {
        self.raw.entry(module.to_vec()).or_default();
        let mut at = 0;
        while at < tokens.len() {
            at = self.read_piece(tokens, at, file, module, folder);
        }
    }

    /// Reads what begins at `at`; returns where the next piece begins.
    fn read_piece(&mut self, tokens: &[Placed], at: usize, file: &Path, module: &[String], folder: &Path) -> usize {
        let sign = |at: usize, sign| tokens.get(at).is_some_and(|placed| placed.is_sign(sign));
        if sign(at, '#') && sign(at + 1, '[') {
            let end = closing(tokens, at + 1) + 1;
            return if leaves_out(&tokens[at..end]) { end_of_item(tokens, end) } else { end };
        }
        if tokens[at].is_word("use") {
            let end = (at..tokens.len()).find(|&at| sign(at, ';')).unwrap_or(tokens.len());
            let mut found = Vec::new();
            use_tree(&tokens[at + 1..end], &mut Vec::new(), &mut found);
            let raw = self.raw.get_mut(module).expect("entered before its tokens are read");
            raw.paths.extend(found.into_iter().map(|(names, used_as, line)| RawPath {
                names,
                used_as: Some(used_as),
                file: file.to_owned(),
                line,
            }));
            return end;
        }
        if let (true, Some(name)) = (tokens[at].is_word("mod"), tokens.get(at + 1).and_then(Placed::word)) {
            return self.read_module(tokens, at + 2, name, file, module, folder);
        }
        let begins_path = ["crate", "super", "self"].iter().any(|word| tokens[at].is_word(word));
        let is_visibility = at > 0 && tokens[at - 1].is_word("in");
        if begins_path && !is_visibility {
            let (names, end) = inline_path(tokens, at);
            let line = tokens[at].line;
            let raw = self.raw.get_mut(module).expect("entered before its tokens are read");
            raw.paths.push(RawPath { names, used_as: None, file: file.to_owned(), line });
            return end;
        }
        at + 1
    }

    /// Reads the module `name`, whose `;` or `{` is at `at`.
    fn read_module(
        &mut self,
        tokens: &[Placed],
        at: usize,
        name: &str,
        file: &Path,
        parent: &[String],
        folder: &Path,
    ) -> usize {
        let module = [parent, &[name.to_owned()]].concat();
        let inner = folder.join(name);
        match tokens.get(at) {
            Some(placed) if placed.is_sign(';') => {
                let (flat, nested) = (folder.join(format!("{name}.rs")), inner.join("mod.rs"));
                let file = if self.source.contains_key(&flat) { flat } else { nested };
                self.read_file(&file, &module, &inner);
            }
            Some(placed) if placed.is_sign('{') => {
                let end = closing(tokens, at);
                self.read_tokens(&tokens[at + 1..end], file, &module, &inner);
                self.raw.get_mut(parent).expect("its parent is read").children.insert(name.to_owned());
                return end + 1;
            }
            _ => return at,
        }
        self.raw.get_mut(parent).expect("its parent is read").children.insert(name.to_owned());
        at + 1
    }
}

/// The position of the bracket that closes the one at `open`.
fn closing(tokens: &[Placed], open: usize) -> usize {
    let mut depth = 0;
    for (at, placed) in tokens.iter().enumerate().skip(open) {
        match placed.token {
            Token::Sign('(' | '[' | '{') => depth += 1,
            Token::Sign(')' | ']' | '}') => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at;
        }
    }
    tokens.len() - 1
}

/// Whether an attribute leaves what follows out of the production build: `cfg(test)`, `cfg(any(test, …))`, `test`.
fn leaves_out(attribute: &[Placed]) -> bool {
    let words: Vec<&str> = attribute.iter().filter_map(Placed::word).collect();
    matches!(words.as_slice(), ["test"] | ["cfg", "test", ..] | ["cfg", "any" | "all", "test", ..])
}

/// Where what begins at `start` ends: an item behind its block or `;`, a field, a variant or an arm behind its comma.
fn end_of_item(tokens: &[Placed], start: usize) -> usize {
    let mut at = start;
    while tokens.get(at).is_some_and(|placed| placed.is_sign('#')) {
        at = closing(tokens, at + 1) + 1;
    }
    const ITEMS: [&str; 12] =
        ["fn", "mod", "struct", "enum", "impl", "trait", "const", "static", "type", "use", "unsafe", "async"];
    let head = tokens[at..].iter().take(6).filter_map(Placed::word).find(|word| ITEMS.contains(word));
    let ends_at_semicolon = matches!(head, Some("const" | "static" | "type" | "use"));
    while let Some(placed) = tokens.get(at) {
        match placed.token {
            Token::Sign('}' | ')' | ']') => return at,
            Token::Sign(';') => return at + 1,
            Token::Sign(',') if head.is_none() => return at + 1,
            Token::Sign('{') if head.is_some() && !ends_at_semicolon => return closing(tokens, at) + 1,
            Token::Sign('(' | '[' | '{') => at = closing(tokens, at) + 1,
            _ => at += 1,
        }
    }
    at
}

/// The paths of a `use` tree, each with the name that it gets.
fn use_tree(tokens: &[Placed], prefix: &mut Names, found: &mut Vec<(Names, String, usize)>) {
    let (mut names, mut at) = (prefix.clone(), 0);
    let mut used_as = None;
    while let Some(placed) = tokens.get(at) {
        match &placed.token {
            Token::Word(word) if word == "as" => {
                used_as = tokens.get(at + 1).and_then(Placed::word).map(str::to_owned);
                at += 1;
            }
            // `self` at the end of a tree is the module itself.
            Token::Word(word) if word == "self" && !names.is_empty() => {}
            Token::Word(word) => names.push(word.clone()),
            Token::Sign('{') => {
                let end = closing(tokens, at);
                for branch in branches(&tokens[at + 1..end]) {
                    use_tree(branch, &mut names, found);
                }
                return;
            }
            _ => {}
        }
        at += 1;
    }
    if let (Some(last), Some(first)) = (names.last().cloned(), tokens.first()) {
        let line = first.line;
        found.push((names, used_as.unwrap_or(last), line));
    }
}

/// The parts between the commas of a list.
fn branches(tokens: &[Placed]) -> Vec<&[Placed]> {
    let (mut branches, mut start, mut at) = (Vec::new(), 0, 0);
    while at < tokens.len() {
        match tokens[at].token {
            Token::Sign('{') => at = closing(tokens, at),
            Token::Sign(',') => {
                branches.push(&tokens[start..at]);
                start = at + 1;
            }
            _ => {}
        }
        at += 1;
    }
    branches.push(&tokens[start..]);
    branches.retain(|branch| !branch.is_empty());
    branches
}

/// The path that begins at `at`, and where it ends.
fn inline_path(tokens: &[Placed], at: usize) -> (Names, usize) {
    let mut names = vec![tokens[at].word().expect("a path begins with a word").to_owned()];
    let mut at = at + 1;
    while tokens.get(at).is_some_and(|placed| placed.token == Token::PathSeparator)
        && let Some(name) = tokens.get(at + 1).and_then(Placed::word)
    {
        names.push(name.to_owned());
        at += 2;
    }
    (names, at)
}

/// Turns paths as they stand into paths from the crate's root.
fn resolve(raw: BTreeMap<Names, RawModule>) -> Modules {
    let mut modules = Modules::new();
    for (path, module) in raw {
        let mut resolved = Module { children: module.children, ..Module::default() };
        for RawPath { names, used_as, file, line } in module.paths {
            let Some(target) = from_root(&path, &resolved.children, &names) else { continue };
            if let Some(name) = used_as {
                resolved.names.insert(name, target.clone());
            }
            resolved.imports.push(Import { target, file, line });
        }
        modules.insert(path, resolved);
    }
    modules
}

/// `names` as seen from the crate's root; `None` for another crate's names and for a bare `crate`, `self` or `super`.
fn from_root(module: &[String], children: &BTreeSet<String>, names: &[String]) -> Option<Names> {
    let (mut base, mut rest) = match names.first()?.as_str() {
        "crate" => (Vec::new(), &names[1..]),
        "self" => (module.to_vec(), &names[1..]),
        "super" => (module.to_vec(), names),
        child if children.contains(child) => (module.to_vec(), names),
        _ => return None,
    };
    while rest.first().is_some_and(|name| name == "super") {
        base.pop();
        rest = &rest[1..];
    }
    (!rest.is_empty()).then(|| [&base, rest].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn modules(files: &[(&str, &str)]) -> Modules {
        read_modules(&files.iter().map(|(path, text)| (PathBuf::from(path), (*text).to_owned())).collect())
    }

    /// The imports of a module, one a line, with their lines.
    fn imports(files: &[(&str, &str)], module: &str) -> Vec<String> {
        let path: Names = module.split("::").map(str::to_owned).collect();
        let modules = modules(files);
        modules[&path].imports.iter().map(|import| format!("{} {}", import.line, import.target.join("::"))).collect()
    }

    #[test]
    fn uses_and_inline_paths_are_imports() {
        let text = "use crate::{b::{self, C}, d as e};\nuse std::fmt;\nfn f() { crate::g::h(); }\n// use crate::no;\n";
        assert_eq!(imports(&[("lib.rs", "mod a;"), ("a.rs", text)], "a"), ["1 b", "1 b::C", "1 d", "3 g::h"]);
    }

    #[test]
    fn super_and_self_count_from_the_module() {
        let files = [
            ("lib.rs", "pub mod room;"),
            ("room/mod.rs", "mod child; use self::child::X; use child::Y;"),
            ("room/child.rs", "use super::super::other::Z; use super::W; mod inner { use super::V; }"),
        ];
        assert_eq!(imports(&files, "room"), ["1 room::child::X", "1 room::child::Y"]);
        assert_eq!(imports(&files, "room::child"), ["1 other::Z", "1 room::W"]);
        assert_eq!(imports(&files, "room::child::inner"), ["1 room::child::V"]);
    }

    #[test]
    fn what_is_only_there_in_tests_is_left_out() {
        let text = "#[cfg(test)]\nmod tests;\n#[cfg(test)] mod more { use crate::x; }\n#[cfg(any(test, feature = \"t\"))]\n\
                    use crate::{y, z};\n#[cfg(test)]\n#[allow(dead_code)]\nfn f<A, B>(a: A) -> B { crate::v::g(a) }\n\
                    struct S { #[cfg(test)] field: crate::u::F, other: crate::w::O }\n#[cfg(not(test))] use crate::p;\n\
                    pub(in crate::q) const N: [u8; 2] = crate::r::N;";
        assert_eq!(imports(&[("lib.rs", "mod a;"), ("a.rs", text)], "a"), ["9 w::O", "10 p", "11 r::N"]);
    }
}
