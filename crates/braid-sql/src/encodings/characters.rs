//! Where characters begin and end in each encoding (`pg_wchar.c`).

use std::ops::Range;

use super::Encoding;

/// The encodings whose characters have several bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// One byte each.
    Single,
    /// Two bytes from 0xA1 on; after 0x8E or 0x8F other sets, of so many bytes.
    Extended { shift_2: Option<usize>, shift_3: Option<usize> },
    /// Two bytes, of which the second may be ASCII; or one of 0xA1 to 0xDF.
    Sjis,
    /// Two bytes, of which the second is not zero.
    Pairs,
    /// Two or four bytes.
    Gb18030,
    /// UTF8
    Unicode,
}

fn form(encoding: Encoding) -> Form {
    match encoding.name() {
        "EUC_JP" | "EUC_JIS_2004" => Form::Extended { shift_2: Some(2), shift_3: Some(3) },
        "EUC_CN" | "EUC_KR" | "JOHAB" => Form::Extended { shift_2: None, shift_3: None },
        "EUC_TW" => Form::Extended { shift_2: Some(4), shift_3: None },
        "SJIS" | "SHIFT_JIS_2004" => Form::Sjis,
        "BIG5" | "GBK" | "UHC" => Form::Pairs,
        "GB18030" => Form::Gb18030,
        "UTF8" => Form::Unicode,
        _ => Form::Single,
    }
}

/// How many bytes the character has that text begins with; `None` if it begins with none. A zero byte is no character.
pub(super) fn length(encoding: Encoding, text: &[u8]) -> Option<usize> {
    let first = *text.first()?;
    if first < 0x80 {
        return (first != 0).then_some(1);
    }
    let at = |place: usize| text.get(place).copied();
    let is_extended = |place: usize| at(place).is_some_and(|byte| (0xa1..=0xfe).contains(&byte));
    let all = |mut places: Range<usize>| places.all(is_extended);
    match form(encoding) {
        Form::Single => Some(1),
        Form::Extended { shift_2, .. } if first == 0x8e => match shift_2? {
            2 => at(1).filter(|byte| (0xa1..=0xdf).contains(byte)).map(|_| 2),
            _ => (at(1).is_some_and(|plane| (0xa1..=0xa7).contains(&plane)) && all(2..4)).then_some(4),
        },
        Form::Extended { shift_3, .. } if first == 0x8f => shift_3.filter(|_| all(1..3)),
        Form::Extended { .. } => all(0..2).then_some(2),
        Form::Sjis if (0xa1..=0xdf).contains(&first) => Some(1),
        Form::Sjis => {
            let is_tail = |byte: &u8| (0x40..=0x7e).contains(byte) || (0x80..=0xfc).contains(byte);
            let is_head = (0x81..=0x9f).contains(&first) || (0xe0..=0xfc).contains(&first);
            at(1).filter(is_tail).filter(|_| is_head).map(|_| 2)
        }
        Form::Pairs => at(1).filter(|byte| *byte != 0).map(|_| 2),
        Form::Gb18030 => {
            let is_lead = |byte: u8| (0x81..=0xfe).contains(&byte);
            let is_digit = |place: usize| at(place).is_some_and(|byte| byte.is_ascii_digit());
            match at(1)? {
                _ if !is_lead(first) => None,
                b'0'..=b'9' => (at(2).is_some_and(is_lead) && is_digit(3)).then_some(4),
                0x40..=0x7e | 0x80..=0xfe => Some(2),
                _ => None,
            }
        }
        Form::Unicode => {
            let announced = announced(encoding, text).min(text.len());
            std::str::from_utf8(&text[..announced]).is_ok().then_some(announced)
        }
    }
}

/// How many bytes the first one says that its character has (`pg_encoding_mblen`).
pub(super) fn announced(encoding: Encoding, text: &[u8]) -> usize {
    let first = text.first().copied().unwrap_or_default();
    match form(encoding) {
        _ if first < 0x80 => 1,
        Form::Single => 1,
        Form::Unicode => match first {
            0xc0..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf7 => 4,
            _ => 1,
        },
        Form::Sjis if (0xa1..=0xdf).contains(&first) => 1,
        Form::Extended { shift_2: Some(4), .. } if first == 0x8e => 4,
        Form::Extended { .. } if first == 0x8f && encoding.name() != "EUC_CN" => 3,
        Form::Gb18030 if text.get(1).is_some_and(u8::is_ascii_digit) => 4,
        _ => 2,
    }
}
