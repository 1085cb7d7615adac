//! The patterns' sequences of pieces, as a tree. Patterns that start with the same pieces share their state.
//!
//! A node represents a prefix and a number of pieces after it. A string reaches a node when these pieces have occurred in
//! order without overlap. Only the earliest end counts, because a `%` matches any skipped text: each piece is matched at its
//! first occurrence. A string therefore reaches a node at most once. Occurrences must arrive in the order of their ends,
//! which for one piece is also the order of their starts.

use std::collections::HashMap;
use std::ops::Range;

/// Number of a node.
pub(super) type Node = u32;

/// The root: no prefix and no piece.
pub(super) const ROOT: Node = 0;

/// The end of a node that is not reached, beyond the end of every string.
const NOT_REACHED: usize = usize::MAX;

/// Maximum length of a list of steps that is scanned. Longer lists are searched for each reached node.
const SCANNED_STEPS_MAX: usize = 16;

/// The tree.
#[derive(Debug, Default)]
pub(super) struct PieceSequences {
    nodes: Vec<SequenceNode>,
    /// The steps of each piece, by their start node.
    steps: Vec<Vec<Step>>,
}

#[derive(Debug, Default)]
struct SequenceNode {
    /// The patterns that match when the node is reached.
    patterns: Vec<u32>,
    has_steps: bool,
}

#[derive(Clone, Copy, Debug)]
struct Step {
    from: Node,
    to: Node,
}

/// The tree while patterns are added.
#[derive(Debug)]
pub(super) struct SequencesBuilder {
    nodes: Vec<SequenceNode>,
    steps: HashMap<(Node, usize), Node>,
}

/// The nodes that a string has reached, with their ends.
#[derive(Debug)]
pub(super) struct Progress {
    ends: Vec<usize>,
    reached: Vec<Node>,
}

impl SequencesBuilder {
    pub fn new() -> Self {
        Self { nodes: vec![SequenceNode::default()], steps: HashMap::new() }
    }

    /// Adds a node for a prefix.
    pub fn add_node(&mut self) -> Node {
        self.nodes.push(SequenceNode::default());
        Node::try_from(self.nodes.len() - 1).expect("fewer pieces than 2^32")
    }

    /// The node that a piece leads to.
    pub fn step(&mut self, from: Node, piece: usize) -> Node {
        if let Some(node) = self.steps.get(&(from, piece)) {
            return *node;
        }
        let node = self.add_node();
        self.nodes[from as usize].has_steps = true;
        self.steps.insert((from, piece), node);
        node
    }

    /// Adds a pattern that matches when the node is reached.
    pub fn add_pattern(&mut self, node: Node, pattern: u32) {
        self.nodes[node as usize].patterns.push(pattern);
    }

    pub fn build(self, piece_count: usize) -> PieceSequences {
        let mut steps = vec![Vec::new(); piece_count];
        for ((from, piece), to) in self.steps {
            steps[piece].push(Step { from, to });
        }
        steps.iter_mut().for_each(|steps| steps.sort_unstable_by_key(|step| step.from));
        PieceSequences { nodes: self.nodes, steps }
    }
}

impl PieceSequences {
    /// Whether a pattern without a prefix starts with the piece.
    pub fn begins_with(&self, piece: usize) -> bool {
        self.steps[piece].first().is_some_and(|step| step.from == ROOT)
    }

    /// The patterns that match when the node is reached.
    #[inline]
    pub fn patterns(&self, node: Node) -> &[u32] {
        &self.nodes[node as usize].patterns
    }

    /// Whether a node has steps.
    pub fn has_steps(&self, node: Node) -> bool {
        self.nodes[node as usize].has_steps
    }

    /// Processes an occurrence of a piece at these bytes. Calls `reach` with each node that it reaches.
    #[inline]
    pub fn advance(&self, piece: usize, bytes: Range<usize>, progress: &mut Progress, mut reach: impl FnMut(Node)) {
        let steps = &self.steps[piece];
        let mut take = |step: &Step, progress: &mut Progress| {
            if progress.ends[step.from as usize] <= bytes.start && progress.reach(step.to, bytes.end) {
                reach(step.to);
            }
        };
        if steps.len() <= SCANNED_STEPS_MAX {
            steps.iter().for_each(|step| take(step, progress));
            return;
        }
        // A node that this occurrence reaches cannot make a step with the same occurrence; the check for this is cheap.
        for at in 0..progress.reached.len() {
            if let Ok(found) = steps.binary_search_by_key(&progress.reached[at], |step| step.from) {
                take(&steps[found], progress);
            }
        }
    }

    /// Memory held.
    pub fn bytes(&self) -> usize {
        let nodes: usize = self.nodes.iter().map(|node| size_of_val(node) + size_of_val(&node.patterns[..])).sum();
        nodes + self.steps.iter().map(|steps| size_of_val(steps) + size_of_val(&steps[..])).sum::<usize>()
    }
}

impl Progress {
    pub fn new(sequences: &PieceSequences) -> Self {
        let mut progress = Self { ends: vec![NOT_REACHED; sequences.nodes.len()], reached: Vec::new() };
        progress.reach(ROOT, 0);
        progress
    }

    /// Resets the state before the next string.
    #[inline]
    pub fn reset(&mut self) {
        for node in &self.reached[1..] {
            self.ends[*node as usize] = NOT_REACHED;
        }
        self.reached.truncate(1);
    }

    /// Records that a node is reached. True if it was not reached before.
    #[inline]
    pub fn reach(&mut self, node: Node, end: usize) -> bool {
        let known = &mut self.ends[node as usize];
        if *known != NOT_REACHED {
            return false;
        }
        *known = end;
        self.reached.push(node);
        true
    }

    /// Whether a node is reached at or before `start`.
    #[inline]
    pub fn is_reached_by(&self, node: Node, start: usize) -> bool {
        self.ends[node as usize] <= start
    }
}
