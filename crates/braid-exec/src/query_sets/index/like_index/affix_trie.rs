//! Search for the texts that a string starts with, or ends with if both are read backwards.
//!
//! The nodes of the trie are stored level by level, so that a node's children are adjacent and the label at position i leads
//! to node i + 1. For a string that starts with none of the texts, the search ends after the first bytes, for any number
//! of texts.

use std::ops::Range;

/// The trie of some texts.
#[derive(Debug)]
pub(super) struct AffixTrie {
    nodes: Vec<TrieNode>,
    /// The bytes that lead from a node to its children.
    labels: Vec<u8>,
}

#[derive(Debug)]
struct TrieNode {
    /// The position of its children's labels, which end where those of the next node start.
    labels_from: usize,
    /// The text that ends here.
    text: Option<usize>,
}

impl AffixTrie {
    /// A trie of distinct texts in ascending order.
    pub fn new(texts: &[&[u8]]) -> Self {
        debug_assert!(texts.is_sorted_by(|a, b| a < b), "distinct texts, ascending");
        let mut trie = Self { nodes: Vec::new(), labels: Vec::new() };
        let mut level: Vec<Range<usize>> = std::iter::once(0..texts.len()).collect();
        let mut depth = 0;
        while !level.is_empty() {
            let mut below = Vec::new();
            for mut range in level {
                let ends_here = texts.get(range.start).is_some_and(|text| text.len() == depth);
                let text = ends_here.then_some(range.start);
                range.start += usize::from(ends_here);
                trie.nodes.push(TrieNode { labels_from: trie.labels.len(), text });
                while !range.is_empty() {
                    let label = texts[range.start][depth];
                    let len = texts[range.clone()].partition_point(|text| text[depth] == label);
                    trie.labels.push(label);
                    below.push(range.start..range.start + len);
                    range.start += len;
                }
            }
            level = below;
            depth += 1;
        }
        trie.nodes.push(TrieNode { labels_from: trie.labels.len(), text: None });
        trie
    }

    /// Calls `found` with the number and the length of each text that these bytes start with, the shortest first.
    #[inline]
    pub fn walk(&self, bytes: impl IntoIterator<Item = u8>, mut found: impl FnMut(usize, usize)) {
        let mut node = 0;
        let mut bytes = bytes.into_iter();
        for length in 0.. {
            if let Some(text) = self.nodes[node].text {
                found(text, length);
            }
            let labels = self.nodes[node].labels_from..self.nodes[node + 1].labels_from;
            if labels.is_empty() {
                return;
            }
            let Some(byte) = bytes.next() else { return };
            let Some(child) = memchr::memchr(byte, &self.labels[labels.clone()]) else { return };
            node = labels.start + child + 1;
        }
    }

    /// Memory held.
    pub fn bytes(&self) -> usize {
        size_of_val(&self.nodes[..]) + self.labels.len()
    }
}
