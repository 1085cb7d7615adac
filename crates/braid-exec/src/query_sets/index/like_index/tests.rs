//! The index, compared with each pattern by itself.

use braid_testing::properties;
use braid_testing::proptest::collection::vec;
use braid_testing::proptest::prelude::*;

use super::*;

/// The same index with the automaton as its search.
fn with_automaton(patterns: &[&[u8]]) -> LikeIndex {
    let prepared: Vec<LikePattern> = patterns.iter().map(|pattern| LikePattern::new(pattern)).collect();
    let texts = PatternTexts::new(&prepared);
    let automaton = || PieceSearch::Automaton(Box::new(PieceAutomaton::new(texts.pieces())));
    LikeIndex { pieces: (!texts.pieces().is_empty()).then(automaton), ..LikeIndex::new(patterns) }
}

fn has_grams(index: &LikeIndex) -> bool {
    matches!(index.pieces, Some(PieceSearch::Grams(_)))
}

/// Compares with the patterns one by one.
fn check<P: AsRef<[u8]>, S: AsRef<[u8]>>(patterns: &[P], strings: &[S]) -> LikeIndex {
    let patterns: Vec<&[u8]> = patterns.iter().map(AsRef::as_ref).collect();
    let single: Vec<LikePattern> = patterns.iter().map(|pattern| LikePattern::new(pattern)).collect();
    let mut matched = vec![u64::MAX; patterns.len().div_ceil(64) + 1];
    for index in [with_automaton(&patterns), LikeIndex::new(&patterns)].map(Arc::new) {
        assert_eq!(index.pattern_count(), patterns.len());
        let mut matcher = index.matcher();
        for string in strings.iter().map(AsRef::as_ref) {
            let any = matcher.matches(string, &mut matched);
            let expected: Vec<usize> = (0..single.len()).filter(|number| single[*number].matches(string)).collect();
            let found: Vec<usize> =
                (0..matched.len() * 64).filter(|number| matched[number / 64] >> (number % 64) & 1 == 1).collect();
            assert_eq!(found, expected, "{:?} like {patterns:?}", String::from_utf8_lossy(string));
            assert_eq!(any, !expected.is_empty());
        }
    }
    LikeIndex::new(&patterns)
}

/// Long pieces that overlap, share beginnings and ends, and contain each other.
fn long_piece() -> impl Strategy<Value = &'static str> {
    let pieces = ["aaaaaaaa", "aaaaaaab", "baaaaaaa", "abababab", "babababa", "ababababab", "abcdefgh", "efghabcd"];
    prop::sample::select([&pieces[..], &["requests", "specialr", "tsspecia", "éàüöé日", "aaaaaaaaaaaa"]].concat())
}

fn long_pattern() -> impl Strategy<Value = String> {
    (vec(long_piece(), 1..4), any::<(bool, bool)>()).prop_map(|(pieces, (begins, ends))| {
        let mark = |any: bool| if any { "" } else { "%" };
        format!("{}{}{}", mark(begins), pieces.join("%"), mark(ends))
    })
}

properties! {
    400 cases;

    #[test]
    fn short_pieces(patterns in vec("[ab%%_é\\\\]{0,7}", 1..70), strings in vec("[ab_%é\\\\]{0,12}", 20)) {
        check(&patterns, &strings);
    }

    #[test]
    fn pieces_of_two_characters_and_more(
        patterns in vec("(%|[abc]{2,3}%)([abc]{2,4}%){0,3}([abc]{2,3})?", 1..70),
        strings in vec("[abc]{0,20}", 20),
    ) {
        check(&patterns, &strings);
    }

    #[test]
    fn long_pieces(
        patterns in vec(long_pattern(), 1..20),
        strings in vec(vec(prop_oneof![long_piece(), Just(""), Just("a"), Just("x")], 0..8), 20),
    ) {
        check(&patterns, &strings.iter().map(|pieces| pieces.concat()).collect::<Vec<_>>());
    }

    #[test]
    fn bytes_that_are_no_characters(patterns in vec(vec(prop::sample::select(&b"%%_\\a\x80\xff\xc3"[..]), 0..8), 1..70),
                                    strings in vec(vec(prop::sample::select(&b"a\x80\xff\xc3"[..]), 0..8), 20)) {
        check(&patterns, &strings);
    }
}

#[test]
fn ends_and_repetitions() {
    let patterns = [
        "", "%", "%%", "a", "a%", "%a", "%a%", "a%a", "%aa%aa%", "%ab%ba%", "ab%ba", "aa%aa%aa", "%a%a%a%", "%abc%",
        "%ab%", "abc", "abc%", "ab%", "%bc", "%c", "\\%%", "100\\%", "\\", "a\\", "%a", "%", "", "_", "a_c", "%_b%",
    ];
    let strings =
        ["", "a", "aa", "aaa", "aaaa", "aba", "abba", "abc", "ab", "abcabc", "%", "100%", "1000", "\\", "a\\", "é"];
    check(&patterns, &strings);
    check(&patterns.repeat(5), &strings);
    check(&[] as &[&str], &strings);
}

#[test]
fn words_in_order() {
    let words = ["special", "pending", "unusual", "express", "packages", "requests", "accounts", "deposits"];
    let pairs: Vec<String> = words.iter().flat_map(|first| words.map(|second| format!("%{first}%{second}%"))).collect();
    let strings: Vec<String> = (0..words.len().pow(3))
        .map(|at| format!("the {}{} of\u{2019} {}.", words[at % 8], words[at / 8 % 8], words[at / 64]))
        .collect();
    assert!(has_grams(&check(&pairs, &strings)));
    assert!(has_grams(&check(
        &["%special%special%"],
        &["specialspecial", "specialpecial", "special", "sspecial special"]
    )));
}

#[test]
fn many_pieces_that_look_alike() {
    let pattern = |number: usize| format!("%customer number {number:04}%{:02}", number % 100);
    let patterns: Vec<String> = (0..1000).map(pattern).collect();
    let string = |number: usize| format!("to customer number {number:04} and customer number {:04}", number * 3);
    let strings: Vec<String> = (0..300).map(|number| string(number * 7)).collect();
    assert!(!has_grams(&check(&patterns, &strings)), "their last grams are alike as well");
}

#[test]
fn many_patterns_that_go_on_with_one_piece() {
    let patterns: Vec<String> = (0..200).map(|number| format!("%word{number:03}%requests%")).collect();
    let strings: Vec<String> =
        (0..250).map(|number| format!("word{:03} and word{number:03} of requests", number / 3)).collect();
    check(&patterns, &strings);
}

#[test]
fn memory_is_told() {
    let small = LikeIndex::new(&[b"%special%requests%"]).bytes();
    let patterns: Vec<String> = (0..1000).map(|number| format!("%{number:06}%some text and more{number:06}")).collect();
    let large = LikeIndex::new(&patterns.iter().map(String::as_bytes).collect::<Vec<_>>()).bytes();
    assert!(small > 1000 && large > 1000 * 30, "{small} {large}");
}
