//! Strings as codes of a dictionary, which many vectors share.

use std::sync::Arc;

use crate::values::byte_strings::ByteStrings;

/// Strings as positions in a dictionary whose strings are distinct.
#[derive(Clone, Debug)]
pub struct CodedStrings {
    /// Positions in the dictionary.
    pub codes: Vec<u32>,
    /// The strings; shared by all vectors of a segment.
    pub dictionary: Arc<ByteStrings>,
}

/// Maximum number of strings of a dictionary that takes in the strings of others, because they are compared one by one.
pub(crate) const UNITED_STRINGS_MAX: usize = 64;

/// Maximum bytes of such a dictionary. Vectors do not count the bytes of their dictionaries, which many vectors share.
const UNITED_BYTES_MAX: usize = 16 << 10;

/// The codes of one dictionary's strings in another dictionary, which takes in missing strings. `None` if the strings exceed
/// the limits.
pub(crate) fn recode(known: &mut Arc<ByteStrings>, added: &Arc<ByteStrings>) -> Option<Vec<u32>> {
    if [&*known, added].iter().any(|d| d.len() > UNITED_STRINGS_MAX || d.bytes() > UNITED_BYTES_MAX) {
        return None;
    }
    let mut missing = Vec::new();
    let mut code = |string: &[u8]| {
        let mut all = (0..known.len()).map(|at| known.get(at));
        all.position(|known| known == string).unwrap_or_else(|| {
            missing.push(string.to_vec());
            known.len() + missing.len() - 1
        }) as u32
    };
    let codes: Vec<u32> = (0..added.len()).map(|at| code(added.get(at))).collect();
    if !missing.is_empty() {
        let strings = (0..known.len()).map(|at| known.get(at));
        let mut united = ByteStrings::from_strings(strings.chain(missing.iter().map(Vec::as_slice)));
        united.shrink();
        *known = Arc::new(united);
    }
    Some(codes)
}

impl CodedStrings {
    /// Appends strings with another dictionary as codes of this dictionary, which takes in missing strings. The chunks of a
    /// table have different dictionaries, mostly of the same few strings. False if the strings exceed the limits.
    pub(crate) fn append_recoded(&mut self, from: &Self) -> bool {
        let Some(codes) = recode(&mut self.dictionary, &from.dictionary) else { return false };
        self.codes.extend(from.codes.iter().map(|code| codes[*code as usize]));
        true
    }

    /// The string of a row.
    #[inline]
    pub fn get(&self, row: usize) -> &[u8] {
        self.dictionary.get(self.codes[row] as usize)
    }
}
