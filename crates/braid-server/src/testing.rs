//! What the fuzz target of the wire protocol calls: everything that reads bytes from clients, whole and in pieces.

use braid_engine::Encoding;
use bytes::{Bytes, BytesMut};

use crate::frontend_message::{FrontendMessage, decode, decode_sasl_initial, missing_bytes, take_frame};

/// Longest error text that is expected: none repeats more than a few bytes of what was sent.
const ERROR_BYTES_MAX: usize = 200;

/// Reads `data` as a client's messages, panicking where that is not total: messages are the same in whatever pieces they
/// come, no frame is larger than what came, and no error is longer than a sentence.
pub fn fuzz_frontend_messages(data: &[u8]) {
    let Some((piece_bytes, stream)) = data.split_first() else { return };
    let whole = messages([stream].into_iter());
    let pieces = messages(stream.chunks(usize::from(*piece_bytes).max(1)));
    assert_eq!(whole, pieces, "in pieces of {piece_bytes} bytes");
    drop(decode_sasl_initial(Bytes::copy_from_slice(stream)));
}

/// The messages in some bytes, up to the first that ends the connection, and what that is.
fn messages<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> Vec<Result<FrontendMessage, String>> {
    let (mut input, mut found) = (BytesMut::new(), Vec::new());
    for piece in pieces {
        input.extend_from_slice(piece);
        loop {
            let before = input.len();
            match take_frame(&mut input) {
                Ok(Some((kind, body))) => {
                    assert_eq!(body.len() + 5, before - input.len(), "a frame is what was taken");
                    found.push(decode(kind, body, Encoding::UTF8).map_err(|error| sentence(&error.message)));
                }
                Ok(None) => {
                    assert!(missing_bytes(&input) > 0 && input.len() == before, "a part of a frame waits for the rest");
                    break;
                }
                Err(error) => {
                    found.push(Err(sentence(&error.message)));
                    return found;
                }
            }
        }
    }
    found
}

fn sentence(message: &str) -> String {
    assert!((1..=ERROR_BYTES_MAX).contains(&message.len()), "{message:?}");
    message.to_owned()
}

#[cfg(test)]
mod tests {
    use braid_testing::cases;
    use braid_testing::mutation::{corpus, mutated};

    use super::*;

    #[test]
    fn mutated_messages_are_read_or_refused() {
        let corpus = corpus("frontend_messages");
        corpus.iter().for_each(|data| fuzz_frontend_messages(data));
        for case in cases!(0..20_000) {
            fuzz_frontend_messages(&mutated(&corpus, &mut case.random()));
        }
    }

    #[test]
    fn the_corpus_has_every_kind_of_message() {
        let mut kinds = std::collections::BTreeSet::new();
        for data in corpus("frontend_messages") {
            let found = messages([&data[1..]].into_iter());
            kinds.extend(
                found.into_iter().flatten().map(|message| std::mem::discriminant(&message)).map(|d| format!("{d:?}")),
            );
        }
        assert_eq!(kinds.len(), 14, "{kinds:?}");
    }
}
