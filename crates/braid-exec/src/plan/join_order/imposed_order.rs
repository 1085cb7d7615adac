//! Join orders by rules other than the least cost, to measure the cost of bad orders and the importance of good estimates.
//!
//! Invariants: a seed always gives the same tree. The relations of a connected graph are joined only along its edges, as in the
//! cheapest tree. Random trees join the parts of an unconnected graph last; other trees join them according to the cost.

use std::error::Error;
use std::fmt;
use std::str::FromStr;

use braid_base::{Random, SeededRandom};

use super::{JoinEdge, JoinGraph, JoinTree, Wanted, join_order};

/// The rule that selects a tree of a graph.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OrderRule {
    /// The cheapest by the estimates.
    #[default]
    Cheapest,
    /// The costliest by the estimates.
    Costliest,
    /// A random tree.
    Random,
    /// The cheapest, with the build and probe sides of random joins swapped.
    Swapped,
}

impl OrderRule {
    const ALL: [Self; 4] = [Self::Cheapest, Self::Costliest, Self::Random, Self::Swapped];

    /// Its name in settings.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cheapest => "cheapest",
            Self::Costliest => "costliest",
            Self::Random => "random",
            Self::Swapped => "swapped",
        }
    }

    /// The tree of the rule; for [`OrderRule::Cheapest`] that of [`join_order`]. Only random rules use the seed.
    pub fn tree(self, seed: u64, rows: &[f64], edges: &[JoinEdge]) -> JoinTree {
        let random = &mut SeededRandom::new(seed);
        match self {
            Self::Cheapest => join_order(rows, edges),
            Self::Costliest => JoinGraph::new(rows, edges).search(Wanted::Costliest),
            Self::Random => random_order(rows, edges, random),
            Self::Swapped => swapped(join_order(rows, edges), random),
        }
    }
}

impl fmt::Display for OrderRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The error for an unknown rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownRule(String);

impl fmt::Display for UnknownRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = OrderRule::ALL.map(OrderRule::name).join(", ");
        write!(f, "join order \"{}\" does not exist; the join orders are: {names}", self.0)
    }
}

impl Error for UnknownRule {}

impl FromStr for OrderRule {
    type Err = UnknownRule;

    fn from_str(name: &str) -> Result<Self, UnknownRule> {
        Self::ALL.into_iter().find(|rule| rule.name() == name).ok_or_else(|| UnknownRule(name.to_owned()))
    }
}

/// A random tree: repeatedly joins a random pair of connected parts with a random build side, until one part is left.
pub fn random_order(rows: &[f64], edges: &[JoinEdge], random: &mut dyn Random) -> JoinTree {
    let graph = JoinGraph::new(rows, edges);
    let mut parts: Vec<(u64, JoinTree)> = (0..rows.len()).map(|at| (1 << at, JoinTree::Relation(at))).collect();
    while parts.len() > 1 {
        // Ordered pairs: each connected pair in both directions.
        let all = || (0..parts.len()).flat_map(|a| (0..parts.len()).map(move |b| (a, b))).filter(|(a, b)| a != b);
        let mut pairs: Vec<(usize, usize)> =
            all().filter(|(a, b)| graph.are_joined(parts[*a].0, parts[*b].0)).collect();
        if pairs.is_empty() {
            pairs = all().collect();
        }
        let (build, probe) = pairs[random.below(pairs.len() as u64) as usize];
        let set = parts[build].0 | parts[probe].0;
        let joined = joined(parts[build].1.clone(), parts[probe].1.clone());
        parts.retain(|(part, _)| part & set == 0);
        parts.push((set, joined));
    }
    parts.remove(0).1
}

/// The tree with the sides of about half of its joins swapped.
fn swapped(tree: JoinTree, random: &mut dyn Random) -> JoinTree {
    let JoinTree::Join { build, probe } = tree else { return tree };
    let (build, probe) = (swapped(*build, random), swapped(*probe, random));
    if random.chance(1, 2) { joined(probe, build) } else { joined(build, probe) }
}

fn joined(build: JoinTree, probe: JoinTree) -> JoinTree {
    JoinTree::Join { build: Box::new(build), probe: Box::new(probe) }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use braid_testing::cases;

    use super::*;

    fn edge(left: usize, right: usize) -> JoinEdge {
        JoinEdge { relations: (left, right), selectivity: 1e-3 }
    }

    /// Panics if a tree joins unconnected parts.
    fn check_connected(graph: &JoinGraph<'_>, tree: &JoinTree) {
        if let JoinTree::Join { build, probe } = tree {
            let set = |tree: &JoinTree| tree.relations().iter().fold(0, |set, at| set | 1 << at);
            assert!(graph.are_joined(set(build), set(probe)), "{tree:?}");
            check_connected(graph, build);
            check_connected(graph, probe);
        }
    }

    /// A chain of four relations has 5 trees over connected parts, times 2 sides for each of 3 joins.
    #[test]
    fn random_orders_reach_every_connected_tree_and_no_other() {
        let (rows, edges) = ([1e6, 1e5, 10.0, 1e3], [edge(0, 1), edge(1, 2), edge(2, 3)]);
        let graph = JoinGraph::new(&rows, &edges);
        let mut seen = HashSet::new();
        let cases = cases!(0..2000);
        let is_replay = cases.is_replay();
        for case in cases {
            let tree = OrderRule::Random.tree(case.seed, &rows, &edges);
            assert_eq!(tree, OrderRule::Random.tree(case.seed, &rows, &edges));
            let mut relations = tree.relations();
            relations.sort_unstable();
            assert_eq!(relations, [0, 1, 2, 3]);
            check_connected(&graph, &tree);
            seen.insert(format!("{tree:?}"));
        }
        assert!(is_replay || seen.len() == 5 * 8, "{} trees", seen.len());
    }

    #[test]
    fn what_nothing_connects_is_joined_in_the_end() {
        let (rows, edges) = ([1e6, 10.0, 1e6], [edge(0, 2)]);
        for case in cases!(0..20) {
            let tree = OrderRule::Random.tree(case.seed, &rows, &edges);
            let JoinTree::Join { build, probe } = tree else { unreachable!("three relations") };
            assert!([&build, &probe].contains(&&Box::new(JoinTree::Relation(1))), "{build:?} {probe:?}");
        }
    }

    #[test]
    fn swapping_changes_only_sides() {
        let (rows, edges) = ([1e6, 1e5, 10.0], [edge(0, 1), edge(1, 2)]);
        let sets = |tree: &JoinTree| match tree {
            JoinTree::Join { build, probe } => {
                let mut halves = [build.relations(), probe.relations()];
                halves.iter_mut().for_each(|half| half.sort_unstable());
                halves.sort();
                halves
            }
            JoinTree::Relation(_) => unreachable!("three relations"),
        };
        let cheapest = join_order(&rows, &edges);
        let trees: Vec<JoinTree> = (0..64).map(|seed| OrderRule::Swapped.tree(seed, &rows, &edges)).collect();
        assert!(trees.iter().all(|tree| sets(tree) == sets(&cheapest)));
        assert_eq!(trees.iter().map(|tree| format!("{tree:?}")).collect::<HashSet<_>>().len(), 4);
    }

    #[test]
    fn names_are_read_back() {
        for rule in OrderRule::ALL {
            assert_eq!(rule.to_string().parse(), Ok(rule));
        }
        assert_eq!("best".parse::<OrderRule>(), Err(UnknownRule("best".to_owned())));
        assert_eq!(OrderRule::default(), OrderRule::Cheapest);
    }
}
