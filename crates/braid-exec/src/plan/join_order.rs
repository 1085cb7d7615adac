//! The order of joins, and the build side of each join. The cheapest tree is found by dynamic programming over sets of
//! relations (Selinger et al., SIGMOD 1979; over every pair of connected sets as in Moerkotte and Neumann, VLDB 2006). For
//! many relations, for which this takes too long, the search is greedy.
//!
//! The search is a pure function of row counts and selectivities. Row counts are those of relations after their own filters.
//! Selectivities are those of predicates between two relations, and are taken as independent.
//!
//! [`imposed_order`] makes orders other than the cheapest, to measure their cost.
//!
//! The executor corrects wrong estimates: it swaps sides that turn out large, and requests another order if a join makes too
//! many pairs ([`join_graph`]). docs/join-order.md has the figures.

pub mod imposed_order;
pub mod join_graph;

use std::cmp::Ordering;
use std::fmt;

/// Maximum number of relations for the exhaustive search: 3^10 = 59 049 pairs of sets.
const EXHAUSTIVE_RELATIONS_MAX: usize = 10;

/// Cost of a row of the build side, which is copied and entered into a table.
pub const BUILD_ROW_COST: f64 = 3.0;
/// Cost of a row of the probe side.
pub const PROBE_ROW_COST: f64 = 1.0;
/// Cost of a row of the result.
const RESULT_ROW_COST: f64 = 1.0;

/// A predicate that connects two different relations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JoinEdge {
    /// The positions of the relations.
    pub relations: (usize, usize),
    /// The share of pairs that satisfy it.
    pub selectivity: f64,
}

/// A join of relations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JoinTree {
    /// The relation at this position.
    Relation(usize),
    /// A join of two trees.
    Join {
        /// The build side.
        build: Box<JoinTree>,
        /// The probe side.
        probe: Box<JoinTree>,
    },
}

impl JoinTree {
    /// The positions of its relations, in the tree's order.
    pub fn relations(&self) -> Vec<usize> {
        match self {
            Self::Relation(at) => vec![*at],
            Self::Join { build, probe } => [probe.relations(), build.relations()].concat(),
        }
    }
}

/// `(probe <- build)`.
impl fmt::Display for JoinTree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Relation(at) => write!(f, "{at}"),
            Self::Join { build, probe } => write!(f, "({probe} <- {build})"),
        }
    }
}

/// The cheapest tree that joins all relations, given their row counts. There must be 1 to 64 relations. Unconnected sets are
/// joined only if no connected sets are left.
pub fn join_order(rows: &[f64], edges: &[JoinEdge]) -> JoinTree {
    JoinGraph::new(rows, edges).search(Wanted::Cheapest)
}

/// The goal of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    Cheapest,
    Costliest,
}

impl Wanted {
    /// `Less` if the first cost is better.
    fn compare(self, cost: f64, other: f64) -> Ordering {
        match self {
            Self::Cheapest => cost.total_cmp(&other),
            Self::Costliest => other.total_cmp(&cost),
        }
    }
}

struct JoinGraph<'a> {
    rows: &'a [f64],
    edges: &'a [JoinEdge],
}

/// The rows of a tree, and what they cost.
#[derive(Clone, Copy)]
struct Estimate {
    rows: f64,
    cost: f64,
}

/// A tree for a set of relations.
#[derive(Clone)]
struct Candidate {
    tree: JoinTree,
    estimate: Estimate,
}

/// The best tree of a set, by its upper join.
#[derive(Clone, Copy)]
struct BestJoin {
    /// The relations of the build side; none for a single relation.
    build: RelationSet,
    estimate: Estimate,
}

type RelationSet = u64;

impl<'a> JoinGraph<'a> {
    fn new(rows: &'a [f64], edges: &'a [JoinEdge]) -> Self {
        assert!((1..=64).contains(&rows.len()), "{} relations", rows.len());
        Self { rows, edges }
    }

    fn search(&self, wanted: Wanted) -> JoinTree {
        if self.rows.len() <= EXHAUSTIVE_RELATIONS_MAX { self.exhaustive(wanted) } else { self.greedy(wanted) }
    }

    fn exhaustive(&self, wanted: Wanted) -> JoinTree {
        let all: RelationSet = (1 << self.rows.len()) - 1;
        let is_connected: Vec<bool> = (0..=all).map(|set| set != 0 && self.is_connected(set)).collect();
        let is_connected = |set: RelationSet| is_connected[set as usize];
        let mut best: Vec<Option<BestJoin>> = vec![None; all as usize + 1];
        for at in 0..self.rows.len() {
            best[1 << at] = Some(BestJoin { build: 0, estimate: self.relation(at).estimate });
        }
        for set in 1..=all {
            let connected = is_connected(set);
            // An unconnected set is a part of no tree of a connected one.
            if set.count_ones() < 2 || (!connected && is_connected(all)) {
                continue;
            }
            // Unconnected halves are joined only if the set itself is unconnected. Its parts are then joined last.
            let rows = self.rows_of(set);
            let mut chosen: Option<BestJoin> = None;
            let mut half = (set - 1) & set;
            while half != 0 {
                let other = set ^ half;
                // An avoidable cross product is never made, also if its estimate is small.
                if !connected || (is_connected(half) && is_connected(other)) {
                    let (Some(build), Some(probe)) = (&best[half as usize], &best[other as usize]) else {
                        unreachable!("smaller sets come first")
                    };
                    let joined = Estimate { rows, cost: cost(build.estimate, probe.estimate, rows) };
                    if chosen.is_none_or(|chosen| wanted.compare(joined.cost, chosen.estimate.cost).is_lt()) {
                        chosen = Some(BestJoin { build: half, estimate: joined });
                    }
                }
                half = (half - 1) & set;
            }
            best[set as usize] = chosen;
        }
        tree_of(&best, all)
    }

    /// Repeatedly joins the pair with the cheapest join, until one tree is left (greedy operator ordering: Fegaras, DEXA 1998).
    /// For the costliest tree, repeatedly joins the pair with the costliest join.
    fn greedy(&self, wanted: Wanted) -> JoinTree {
        let mut parts: Vec<(RelationSet, Candidate)> =
            (0..self.rows.len()).map(|at| (1 << at, self.relation(at))).collect();
        while parts.len() > 1 {
            let pairs = (0..parts.len()).flat_map(|a| (0..parts.len()).map(move |b| (a, b))).filter(|(a, b)| a != b);
            let rank = |(a, b): (usize, usize)| {
                let ((build_set, build), (probe_set, probe)) = (&parts[a], &parts[b]);
                let apart = !self.are_joined(*build_set, *probe_set);
                let (build, probe) = (build.estimate, probe.estimate);
                let cost = cost(build, probe, self.rows_of(build_set | probe_set)) - build.cost - probe.cost;
                (apart, cost)
            };
            let chosen = pairs.min_by(|a, b| {
                let ((apart_a, cost_a), (apart_b, cost_b)) = (rank(*a), rank(*b));
                apart_a.cmp(&apart_b).then(wanted.compare(cost_a, cost_b))
            });
            let (build, probe) = chosen.expect("two parts make a pair");
            let set = parts[build].0 | parts[probe].0;
            let joined = self.join(&parts[build].1, &parts[probe].1, set);
            parts.retain(|(part, _)| part & set == 0);
            parts.push((set, joined));
        }
        parts.remove(0).1.tree
    }

    fn relation(&self, at: usize) -> Candidate {
        Candidate { tree: JoinTree::Relation(at), estimate: Estimate { rows: self.rows[at], cost: 0.0 } }
    }

    fn join(&self, build: &Candidate, probe: &Candidate, set: RelationSet) -> Candidate {
        let rows = self.rows_of(set);
        let cost = cost(build.estimate, probe.estimate, rows);
        let tree = JoinTree::Join { build: Box::new(build.tree.clone()), probe: Box::new(probe.tree.clone()) };
        Candidate { tree, estimate: Estimate { rows, cost } }
    }

    /// The number of rows of the join of a set, which is independent of the order.
    fn rows_of(&self, set: RelationSet) -> f64 {
        let within = |edge: &&JoinEdge| contains(set, edge.relations.0) && contains(set, edge.relations.1);
        let selectivity: f64 = self.edges.iter().filter(within).map(|edge| edge.selectivity).product();
        let pairs: f64 = (0..self.rows.len()).filter(|at| contains(set, *at)).map(|at| self.rows[at]).product();
        pairs * selectivity
    }

    fn are_joined(&self, a: RelationSet, b: RelationSet) -> bool {
        self.edges.iter().any(|JoinEdge { relations: (left, right), .. }| {
            (contains(a, *left) && contains(b, *right)) || (contains(a, *right) && contains(b, *left))
        })
    }

    fn is_connected(&self, set: RelationSet) -> bool {
        let mut reached = set & set.wrapping_neg();
        loop {
            let next = self.edges.iter().fold(reached, |reached, edge| {
                let (left, right) = (1 << edge.relations.0, 1 << edge.relations.1);
                let touches = reached & (left | right) != 0 && set & left != 0 && set & right != 0;
                if touches { reached | left | right } else { reached }
            });
            if next == reached {
                return reached == set;
            }
            reached = next;
        }
    }
}

/// What a join of two trees costs, with so many rows.
fn cost(build: Estimate, probe: Estimate, rows: f64) -> f64 {
    build.cost + probe.cost + BUILD_ROW_COST * build.rows + PROBE_ROW_COST * probe.rows + RESULT_ROW_COST * rows
}

/// The best tree of a set.
fn tree_of(best: &[Option<BestJoin>], set: RelationSet) -> JoinTree {
    let BestJoin { build, .. } = best[set as usize].expect("a tree is made for every set that is a part of one");
    if build == 0 {
        return JoinTree::Relation(set.trailing_zeros() as usize);
    }
    JoinTree::Join { build: Box::new(tree_of(best, build)), probe: Box::new(tree_of(best, set ^ build)) }
}

fn contains(set: RelationSet, relation: usize) -> bool {
    set >> relation & 1 == 1
}

#[cfg(test)]
mod tests {
    use braid_base::Random;
    use braid_testing::cases;

    use super::*;

    fn edge(left: usize, right: usize, selectivity: f64) -> JoinEdge {
        JoinEdge { relations: (left, right), selectivity }
    }

    #[test]
    fn the_small_side_is_built() {
        assert_eq!(join_order(&[6e6, 1e4], &[edge(0, 1, 1e-4)]).to_string(), "(0 <- 1)");
        assert_eq!(join_order(&[1e4, 6e6], &[edge(0, 1, 1e-4)]).to_string(), "(1 <- 0)");
        assert_eq!(join_order(&[7.0], &[]).to_string(), "0");
    }

    #[test]
    fn selective_joins_go_first() {
        // Lineitem, orders, a customer in five, as in TPC-H Q3.
        let chain = [edge(0, 1, 1.0 / 1.5e6), edge(1, 2, 1.0 / 150e3)];
        assert_eq!(join_order(&[3e6, 7e5, 3e4], &chain).to_string(), "(0 <- (1 <- 2))");
        // A star: every dimension is built, the most selective is probed first.
        let star = [edge(0, 1, 1e-3), edge(0, 2, 1e-3), edge(0, 3, 1e-3)];
        assert_eq!(join_order(&[1e7, 900.0, 10.0, 500.0], &star).to_string(), "(((0 <- 2) <- 3) <- 1)");
    }

    #[test]
    fn what_nothing_connects_is_joined_last() {
        let tree = join_order(&[1e6, 10.0, 1e6], &[edge(0, 2, 1e-6)]);
        assert_eq!(tree.to_string(), "((0 <- 2) <- 1)");
    }

    /// The cost that is wanted among every tree over connected sets, by definition.
    fn extreme(graph: &JoinGraph<'_>, wanted: Wanted, set: RelationSet) -> f64 {
        if set.count_ones() == 1 {
            return 0.0;
        }
        let row_count = |set: RelationSet| graph.rows_of(set);
        let mut costs = Vec::new();
        let mut half = (set - 1) & set;
        while half != 0 {
            let other = set ^ half;
            if !graph.is_connected(set) || (graph.is_connected(half) && graph.is_connected(other)) {
                let inputs = extreme(graph, wanted, half) + extreme(graph, wanted, other);
                let own = BUILD_ROW_COST * row_count(half) + PROBE_ROW_COST * row_count(other) + row_count(set);
                costs.push(inputs + own);
            }
            half = (half - 1) & set;
        }
        costs.into_iter().min_by(|a, b| wanted.compare(*a, *b)).unwrap()
    }

    fn cost_of(graph: &JoinGraph<'_>, tree: &JoinTree) -> Candidate {
        match tree {
            JoinTree::Relation(at) => graph.relation(*at),
            JoinTree::Join { build, probe } => {
                let set = tree.relations().iter().fold(0, |set, at| set | 1 << at);
                graph.join(&cost_of(graph, build), &cost_of(graph, probe), set)
            }
        }
    }

    #[test]
    fn the_search_finds_the_extreme_trees_and_greed_finds_a_tree() {
        for case in cases!(0..200) {
            let mut random = case.random();
            let count = 2 + random.below(4) as usize;
            let rows: Vec<f64> = (0..count).map(|_| (1 + random.below(1_000_000)) as f64).collect();
            let edges: Vec<JoinEdge> = (0..random.below(7))
                .map(|_| {
                    let left = random.below(count as u64) as usize;
                    let right = (left + 1 + random.below(count as u64 - 1) as usize) % count;
                    edge(left, right, 1.0 / (1 + random.below(100_000)) as f64)
                })
                .collect();
            let graph = JoinGraph::new(&rows, &edges);
            for wanted in [Wanted::Cheapest, Wanted::Costliest] {
                let tree = graph.exhaustive(wanted);
                let (found, sought) = (cost_of(&graph, &tree).estimate.cost, extreme(&graph, wanted, (1 << count) - 1));
                assert!((found - sought).abs() <= sought * 1e-9, "{wanted:?}: {found} and {sought}");
                for tree in [tree, graph.greedy(wanted)] {
                    let mut relations = tree.relations();
                    relations.sort_unstable();
                    assert!(relations.into_iter().eq(0..count));
                }
            }
        }
    }
}
