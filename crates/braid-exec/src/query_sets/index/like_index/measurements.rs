//! The time to match a string with the patterns of many queries. Run with
//! `cargo test --release -p braid-exec --lib like_index::measurements -- --ignored --nocapture --test-threads 1`.

use braid_base::random::{Random, SeededRandom};
use memchr::memmem::Finder;

use super::*;
use crate::values::byte_strings::ByteStrings;

const STRING_COUNT: usize = 1_500_000;

// The words of TPC-H's text (specification, 4.2.2.13 and dbgen's `dists.dss`) with their weights; of the rare ones, a few
// stand for all.

const NOUNS: &[(&str, u64)] = &[
    ("packages", 40),
    ("requests", 40),
    ("accounts", 40),
    ("deposits", 40),
    ("foxes", 20),
    ("ideas", 20),
    ("theodolites", 20),
    ("pinto beans", 20),
    ("instructions", 20),
    ("dependencies", 10),
    ("excuses", 10),
    ("platelets", 10),
    ("asymptotes", 10),
    ("courts", 5),
    ("dolphins", 5),
    ("warhorses", 10),
    ("hockey players", 10),
];

const VERBS: &[(&str, u64)] = &[
    ("sleep", 20),
    ("wake", 20),
    ("are", 20),
    ("cajole", 20),
    ("haggle", 20),
    ("nag", 10),
    ("use", 10),
    ("boost", 10),
    ("affix", 5),
    ("detect", 5),
    ("integrate", 5),
    ("promise", 10),
    ("engage", 10),
];

const ADJECTIVES: &[(&str, u64)] = &[
    ("special", 20),
    ("pending", 20),
    ("unusual", 20),
    ("express", 20),
    ("regular", 50),
    ("final", 40),
    ("ironic", 40),
    ("even", 30),
    ("bold", 20),
    ("silent", 10),
    ("ruthless", 10),
    ("dogged", 10),
];

const ADVERBS: &[(&str, u64)] = &[
    ("furiously", 50),
    ("slyly", 50),
    ("carefully", 50),
    ("blithely", 40),
    ("quickly", 30),
    ("fluffily", 20),
    ("permanently", 10),
    ("finally", 10),
];

const PREPOSITIONS: &[(&str, u64)] = &[
    ("about the ", 50),
    ("above the ", 50),
    ("according to the ", 50),
    ("across the ", 50),
    ("after the ", 50),
    ("against the ", 40),
    ("along the ", 40),
    ("alongside of the ", 30),
    ("among the ", 30),
    ("around the ", 20),
];

fn pick(random: &mut SeededRandom, words: &[(&'static str, u64)]) -> &'static str {
    let mut at = random.below(words.iter().map(|(_, weight)| weight).sum());
    for (word, weight) in words {
        match at.checked_sub(*weight) {
            Some(rest) => at = rest,
            None => return word,
        }
    }
    unreachable!("below the sum of all weights")
}

fn noun_phrase(random: &mut SeededRandom) -> String {
    let (adjective, noun) = (pick(random, ADJECTIVES), pick(random, NOUNS));
    match random.below(9) {
        0 => noun.to_owned(),
        1..3 => format!("{adjective} {noun}"),
        3 => format!("{}, {adjective} {noun}", pick(random, ADJECTIVES)),
        _ => format!("{} {adjective} {noun}", pick(random, ADVERBS)),
    }
}

fn sentence(random: &mut SeededRandom) -> String {
    let mut sentence = noun_phrase(random);
    if random.chance(2, 11) {
        sentence += &format!(" {}{}", pick(random, PREPOSITIONS), noun_phrase(random));
    }
    sentence += &format!(" {}", pick(random, VERBS));
    if random.chance(4, 7) {
        sentence += &format!(" {}", pick(random, ADVERBS));
    }
    match random.below(11) {
        0..3 => {}
        3..7 => sentence += &format!(" {}{}", pick(random, PREPOSITIONS), noun_phrase(random)),
        _ => sentence += &format!(" {}", noun_phrase(random)),
    }
    sentence + ". "
}

/// Pieces of 19 to 78 bytes of a long text, like o_comment.
fn comments() -> ByteStrings {
    let mut random = SeededRandom::new(13);
    let mut text = String::new();
    while text.len() < 4 << 20 {
        text += &sentence(&mut random);
    }
    let strings: Vec<&[u8]> = (0..STRING_COUNT)
        .map(|_| {
            let len = 19 + random.below(60) as usize;
            let from = random.below((text.len() - len) as u64) as usize;
            &text.as_bytes()[from..from + len]
        })
        .collect();
    ByteStrings::from_strings(strings)
}

/// Processor time of this thread, which other processes affect little.
fn processor_time_ns() -> f64 {
    let times = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    times.split(' ').next().unwrap().parse().unwrap()
}

/// Prints the time per string. `matches` returns the number of patterns that a string matches.
fn measure(name: &str, strings: &ByteStrings, mut matches: impl FnMut(&[u8]) -> usize) -> usize {
    let mut best = f64::MAX;
    let mut match_count = 0;
    for _ in 0..7 {
        let begin = processor_time_ns();
        match_count = (0..strings.len()).map(|at| matches(strings.get(at))).sum();
        best = best.min(processor_time_ns() - begin);
    }
    let count = strings.len() as f64;
    println!("{name}: {:.1} ns a string, {:.3} matches", best / count, match_count as f64 / count);
    match_count
}

fn measure_index(name: &str, strings: &ByteStrings, index: LikeIndex) -> usize {
    let mut matched = vec![0; index.pattern_count().div_ceil(64)];
    let mut matcher = Arc::new(index).matcher();
    measure(name, strings, |string| {
        matcher.matches(string, &mut matched);
        matched.iter().map(|word| word.count_ones() as usize).sum()
    })
}

const FIRST: [&str; 4] = ["special", "pending", "unusual", "express"];
const SECOND: [&str; 4] = ["packages", "requests", "accounts", "deposits"];

fn index_of(patterns: &[String]) -> LikeIndex {
    LikeIndex::new(&patterns.iter().map(String::as_bytes).collect::<Vec<_>>())
}

#[test]
#[ignore = "a measurement"]
fn sixteen_pairs_of_words() {
    let strings = comments();
    println!("{} bytes a string", (0..strings.len()).map(|at| strings.get(at).len()).sum::<usize>() / strings.len());
    let patterns: Vec<String> =
        FIRST.iter().flat_map(|first| SECOND.map(|second| format!("%{first}%{second}%"))).collect();
    let single: Vec<LikePattern> = patterns.iter().map(|pattern| LikePattern::new(pattern.as_bytes())).collect();
    let one_by_one =
        measure("one by one", &strings, |string| single.iter().filter(|pattern| pattern.matches(string)).count());
    let mut by_automaton = index_of(&patterns);
    let automaton = PieceAutomaton::new(PatternTexts::new(&single).pieces());
    by_automaton.pieces = Some(PieceSearch::Automaton(Box::new(automaton)));
    assert_eq!(measure_index("automaton", &strings, by_automaton), one_by_one);
    assert_eq!(measure_index("index", &strings, index_of(&patterns)), one_by_one);
    let (first, second) = (FIRST.map(Finder::new), SECOND.map(Finder::new));
    let searched = measure("each word searched", &strings, |string| {
        let after = first.iter().filter_map(|word| Some(word.find(string)? + word.needle().len()));
        after.map(|from| second.iter().filter(|word| word.find(&string[from..]).is_some()).count()).sum()
    });
    assert_eq!(searched, one_by_one);
}

#[test]
#[ignore = "a measurement"]
fn more_patterns() {
    let strings = comments();
    for count in [1, 4, 16, 64, 256, 1024] {
        let random = SeededRandom::new(count);
        let word = |random: &mut SeededRandom| match random.below(2) {
            0 => pick(random, ADJECTIVES).to_owned(),
            _ => format!("{} {}", pick(random, ADVERBS), pick(random, NOUNS)),
        };
        let patterns = |shape: fn(&str, &str) -> String| -> Vec<String> {
            let mut random = random.clone();
            (0..count).map(|_| shape(&word(&mut random), &word(&mut random))).collect()
        };
        measure_index(&format!("{count} of %a%b%"), &strings, index_of(&patterns(|a, b| format!("%{a}%{b}%"))));
        measure_index(&format!("{count} of a%b%"), &strings, index_of(&patterns(|a, b| format!("{a}%{b}%"))));
        measure_index(&format!("{count} of a%"), &strings, index_of(&patterns(|a, b| format!("{a} {b}%"))));
    }
}
