//! What clients send, and what they should not.

use braid_base::Random;
use braid_testing::cases;
use bytes::BufMut;

use super::*;

fn frame(kind: u8, body: &[u8]) -> BytesMut {
    let mut bytes = BytesMut::new();
    bytes.put_u8(kind);
    bytes.put_u32(body.len() as u32 + 4);
    bytes.put_slice(body);
    bytes
}

fn message(kind: u8, body: &[u8]) -> Result<FrontendMessage, ErrorReport> {
    let (kind, body) = take_frame(&mut frame(kind, body))?.expect("the frame is whole");
    decode(kind, body, Encoding::UTF8)
}

#[test]
fn messages_decode() {
    let parse = b"s1\0select $1\0\0\x02\0\0\0\x17\0\0\0\0";
    let expected = Parse { statement: "s1".into(), sql: "select $1".into(), parameter_oids: vec![23, 0] };
    assert_eq!(message(b'P', parse).unwrap(), FrontendMessage::Parse(expected));
    let bind = b"\0s1\0\0\x01\0\x01\0\x02\0\0\0\x02ab\xFF\xFF\xFF\xFF\0\0";
    let expected = Bind {
        portal: String::new(),
        statement: "s1".into(),
        parameter_formats: vec![1],
        parameters: vec![Some(Bytes::from_static(b"ab")), None],
        result_formats: vec![],
    };
    assert_eq!(message(b'B', bind).unwrap(), FrontendMessage::Bind(expected));
    assert_eq!(message(b'D', b"Pp\0").unwrap(), FrontendMessage::Describe(Target::Portal("p".into())));
    let execute = FrontendMessage::Execute { portal: "p".into(), max_rows: 5 };
    assert_eq!(message(b'E', b"p\0\0\0\0\x05").unwrap(), execute);
    assert_eq!(message(b'S', b"").unwrap(), FrontendMessage::Sync);
    assert_eq!(message(b'd', b"1\t2\n").unwrap(), FrontendMessage::CopyData(Bytes::from_static(b"1\t2\n")));
}

#[test]
fn frames_wait_until_they_are_whole() {
    let whole = frame(b'Q', b"select 1\0");
    for length in 0..whole.len() {
        let mut part = BytesMut::from(&whole[..length]);
        assert_eq!(take_frame(&mut part).unwrap(), None);
        assert!(missing_bytes(&part) > 0 && missing_bytes(&part) <= whole.len() - length);
        assert_eq!(part.len(), length, "nothing is taken");
    }
    let mut two = whole.clone();
    two.extend_from_slice(&whole);
    take_frame(&mut two).unwrap().unwrap();
    assert_eq!(two, whole);
}

#[test]
fn lengths_that_lie_are_refused() {
    for (kind, length, fatal) in [(b'Q', 3, true), (b'Q', u32::MAX, true), (b'S', 10_001, true), (b'?', 4, true)] {
        let mut bytes = BytesMut::from(&[kind, 0, 0, 0, 0][..]);
        bytes[1..5].copy_from_slice(&u32::to_be_bytes(length));
        let error = take_frame(&mut bytes).unwrap_err();
        assert_eq!((error.code, error.severity == crate::error_report::Severity::Fatal), ("08P01", fatal));
    }
    for (kind, body) in [
        (b'Q', &b"no end"[..]),
        (b'P', b"s\0q\0\0\x05\0\0"),
        (b'B', b"\0\0\0\0\0\x01\0\0\0\x09ab\0\0"),
        (b'B', b"\0\0\0\0\0\x01\xFF\xFF\xFF\xFEab\0\0"),
        (b'B', b"\0\0\0\x01\0\x07\0\0\0\0"),
        (b'D', b""),
        (b'D', b"Xp\0"),
        (b'E', b"p\0\0\0"),
        (b'S', b"more"),
    ] {
        assert_eq!(message(kind, body).unwrap_err().code, "08P01", "{}", char::from(kind));
    }
    assert_eq!(message(b'Q', b"\xC3\x28\0").unwrap_err().code, "22021");
}

#[test]
fn no_bytes_make_it_panic() {
    for case in cases!(0..20_000) {
        let mut random = case.random();
        let kind = b"QPBDECHScfpdFX"[random.below(14) as usize];
        let body: Vec<u8> = (0..random.below(24)).map(|_| random.below(4) as u8 * 80).collect();
        let _ = message(kind, &body);
        let _ = decode_sasl_initial(Bytes::from(body));
    }
}
