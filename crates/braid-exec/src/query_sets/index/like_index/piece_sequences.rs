//! The sequences of pieces that patterns ask for, as a tree: patterns that begin with the same pieces share their state.
//!
//! A node stands for a prefix and some pieces after it. A string reaches it where those pieces have occurred in order
//! without overlap, and what counts is the earliest end of that: each piece at the first place where it fits, which is
//! enough since a `%` before it takes up whatever was skipped. So a node is reached once at most for a string, and
//! occurrences must come in the order of their ends: those of one piece then are in the order of their beginnings too.

use std::collections::HashMap;

/// Number of a node.
pub(super) type Node = u32;

/// Before any piece, with no prefix.
pub(super) const ROOT: Node = 0;

/// Where a node ends that was not reached: behind every string.
const NOT_REACHED: usize = usize::MAX;

/// Lists of that many steps are gone through; longer ones are searched for each node reached.
const SCANNED_STEPS_MAX: usize = 16;

/// The tree.
#[derive(Debug, Default)]
pub(super) struct PieceSequences {
    nodes: Vec<SequenceNode>,
    /// The steps that each piece makes, by the node that they begin at.
    steps: Vec<Vec<Step>>,
}

#[derive(Debug, Default)]
struct SequenceNode {
    /// The patterns that match once it is reached.
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

/// Which nodes a string has reached, and where.
#[derive(Debug)]
pub(super) struct Progress {
    ends: Vec<usize>,
    reached: Vec<Node>,
}

impl SequencesBuilder {
    pub fn new() -> Self {
        Self { nodes: vec![SequenceNode::default()], steps: HashMap::new() }
    }

    /// A node that a prefix leads to.
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

    /// A pattern that matches once the node is reached.
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
    /// Whether patterns without a prefix begin with a piece.
    pub fn begins_with(&self, piece: usize) -> bool {
        self.steps[piece].first().is_some_and(|step| step.from == ROOT)
    }

    /// The patterns that match once the node is reached.
    #[inline]
    pub fn patterns(&self, node: Node) -> &[u32] {
        &self.nodes[node as usize].patterns
    }

    /// Whether pieces lead on from a node.
    pub fn has_steps(&self, node: Node) -> bool {
        self.nodes[node as usize].has_steps
    }

    /// Takes in that a piece occurs there; calls `reach` with each node that is reached by it.
    #[inline]
    pub fn advance(
        &self,
        piece: usize,
        start: usize,
        end: usize,
        progress: &mut Progress,
        mut reach: impl FnMut(Node),
    ) {
        let steps = &self.steps[piece];
        let mut take = |step: &Step, progress: &mut Progress| {
            if progress.ends[step.from as usize] <= start && progress.reach(step.to, end) {
                reach(step.to);
            }
        };
        if steps.len() <= SCANNED_STEPS_MAX {
            steps.iter().for_each(|step| take(step, progress));
            return;
        }
        // What this occurrence reaches cannot take a step with it, but is passed by cheaply.
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

    /// As before a string.
    #[inline]
    pub fn reset(&mut self) {
        for node in &self.reached[1..] {
            self.ends[*node as usize] = NOT_REACHED;
        }
        self.reached.truncate(1);
    }

    /// Notes that a node is reached; whether it had not been.
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

    /// Whether a node is reached so early that what follows may begin at `start`.
    #[inline]
    pub fn is_reached_by(&self, node: Node, start: usize) -> bool {
        self.ends[node as usize] <= start
    }
}
