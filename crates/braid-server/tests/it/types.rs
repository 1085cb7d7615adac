//! Every type as parameter and as result, in both formats.

use tokio::io::AsyncWriteExt;
use tokio_postgres::types::Type;

use crate::harness::TestServer;
use crate::raw_client::{bind, describe_portal, execute, parse, sync};

/// (oid, type in SQL, text as PostgreSQL prints it)
const VALUES: &[(u32, &str, &str)] = &[
    (16, "boolean", "t"),
    (21, "smallint", "-32768"),
    (23, "integer", "2147483647"),
    (20, "bigint", "-9223372036854775808"),
    (700, "real", "0.1"),
    (701, "double precision", "1e+300"),
    (1700, "numeric(20,4)", "-1234567890.1200"),
    (25, "text", "ä 'quoted' \\ text"),
    (1043, "varchar", "x"),
    (1082, "date", "2024-02-29"),
    (1114, "timestamp", "2024-02-29 12:00:00.5"),
    (1184, "timestamptz", "1969-07-20 20:17:40+00"),
    (1186, "interval", "3 days"),
    (17, "bytea", "\\x00ff"),
];

/// Sends `value` in a format and gets it back in another; the result's oid and bytes.
async fn echo(
    server: &TestServer,
    oid: u32,
    sql: &str,
    (format, value): (u16, Option<&[u8]>),
    result_format: u16,
) -> (u32, Option<Vec<u8>>) {
    let mut client = server.raw().await;
    let messages = [
        parse("", sql, &[oid]),
        bind("", "", format, &[value], result_format),
        describe_portal(""),
        execute("", 0),
        sync(),
    ];
    client.stream.write_all(&messages.concat()).await.unwrap();
    let answers = client.until_ready().await;
    let row = answers.iter().find(|m| m.kind == 'D').unwrap_or_else(|| panic!("{sql}: {answers:?}"));
    let description = &answers.iter().find(|m| m.kind == 'T').unwrap().body;
    let name_end = 2 + description[2..].iter().position(|b| *b == 0).unwrap();
    let oid_at = name_end + 1 + 6;
    (u32::from_be_bytes(description[oid_at..oid_at + 4].try_into().unwrap()), row.values()[0].clone())
}

#[tokio::test]
async fn every_type_goes_in_and_out_as_text_and_as_binary() {
    let server = TestServer::start().await;
    for (oid, pg_type, text) in VALUES {
        let sql = format!("select $1::{pg_type} as value");
        let (got_oid, binary) = echo(&server, *oid, &sql, (0, Some(text.as_bytes())), 1).await;
        assert_eq!(got_oid, *oid, "{pg_type}");
        let binary = binary.unwrap();
        let (_, back) = echo(&server, *oid, &sql, (1, Some(&binary)), 0).await;
        assert_eq!(String::from_utf8(back.unwrap()).unwrap(), *text, "{pg_type}");
        let (_, again) = echo(&server, *oid, &sql, (1, Some(&binary)), 1).await;
        assert_eq!(again.unwrap(), binary, "{pg_type} in binary");
        assert_eq!(echo(&server, *oid, &sql, (1, None), 1).await.1, None, "null {pg_type}");
    }
}

/// PostgreSQL's bytes.
#[tokio::test]
async fn names_of_objects_are_oids_and_records_in_arrays_tell_their_types() {
    let server = TestServer::start().await;
    for (sql, oid, bytes) in [
        ("select 'pg_class'::regclass", 2205, "000004eb"),
        (
            "select array['int'::regtype, 'text']",
            2211,
            "00000001000000000000089e000000020000000100000004000000170000000400000019",
        ),
        ("select x from (values ('pg_catalog'::regnamespace)) v(x)", 4089, "0000000b"),
        (
            "select array[row(1, 'a'::text), row(2, null)]",
            2287,
            "0000000100000000000008c9000000020000000100000019000000020000001700000004000000010000001900000001610000001800000002000000170000000400000002000002c1ffffffff",
        ),
    ] {
        let sql = format!("{sql} where $1 = 1");
        let (got_oid, value) = echo(&server, 23, &sql, (0, Some(b"1")), 1).await;
        let hex: String = value.unwrap().iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!((got_oid, &*hex), (oid, bytes), "{sql}");
    }
    let (_, text) = echo(&server, 23, "select 'pg_class'::regclass where $1 = 1", (0, Some(b"1")), 0).await;
    assert_eq!(text.unwrap(), b"pg_class");
}

#[tokio::test]
async fn undeclared_parameters_take_the_type_of_their_place() {
    let server = TestServer::start().await;
    let client = server.client().await;
    client.batch_execute("create table places (a integer, b numeric(10,2), c date, d text, e uuid)").await.unwrap();
    let insert = client.prepare("insert into places values ($1, $2, $3, $4, $5)").await.unwrap();
    let names: Vec<&str> = insert.params().iter().map(|t| t.name()).collect();
    assert_eq!(names, ["int4", "numeric", "date", "text", "uuid"]);
    let select = client.prepare("select d from places where a = $1 and c < $2").await.unwrap();
    assert_eq!(select.params().iter().map(|t| t.name()).collect::<Vec<_>>(), ["int4", "date"]);
    let mut raw = server.raw().await;
    let uuid = b"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11";
    let row: [Option<&[u8]>; 5] = [Some(b"1"), Some(b"2.50"), Some(b"2024-01-31"), Some(b"x"), Some(uuid)];
    let messages = [
        parse("", "insert into places values ($1, $2, $3, $4, $5)", &[]),
        bind("", "", 0, &row, 0),
        execute("", 0),
        sync(),
    ];
    raw.stream.write_all(&messages.concat()).await.unwrap();
    let answers = raw.until_ready().await;
    assert_eq!(answers.iter().find(|m| m.kind == 'C').unwrap_or_else(|| panic!("{answers:?}")).text(), "INSERT 0 1");
    let answers = raw.query("select * from places").await;
    let values: Vec<String> = answers[1].values().into_iter().map(|v| String::from_utf8(v.unwrap()).unwrap()).collect();
    assert_eq!(values, ["1", "2.50", "2024-01-31", "x", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"]);
}

#[tokio::test]
async fn comparing_with_a_numeric_parameter_does_not_round_it() {
    let server = TestServer::start().await;
    let client = server.client().await;
    client.batch_execute("create table rounding (b numeric(10,2))").await.unwrap();
    client.batch_execute("insert into rounding values (10.12), (10.13)").await.unwrap();
    let mut raw = server.raw().await;
    for oids in [&[1700][..], &[]] {
        let messages = [
            parse("", "select count(*) from rounding where b < $1", oids),
            bind("", "", 0, &[Some(b"10.125")], 0),
            execute("", 0),
            sync(),
        ];
        raw.stream.write_all(&messages.concat()).await.unwrap();
        let answers = raw.until_ready().await;
        let row = answers.iter().find(|m| m.kind == 'D').unwrap_or_else(|| panic!("{answers:?}"));
        assert_eq!(row.values(), [Some(b"1".to_vec())], "declared: {oids:?}");
    }
}

#[tokio::test]
async fn what_is_no_value_is_refused() {
    let server = TestServer::start().await;
    let mut raw = server.raw().await;
    for (oid, format, value, code) in [
        (23, 0, &b"abc"[..], "22P02"),
        (23, 0, b"99999999999", "22003"),
        (23, 1, b"\x01", "08P01"),
        (23, 1, b"\x00\x00\x00\x01\x00", "22P03"),
        (1082, 0, b"2023-02-29", "22008"),
        (25, 0, b"\xC3\x28", "22021"),
        (1700, 0, b"NaNs", "22P02"),
    ] {
        let messages =
            [parse("", "select $1", &[oid]), bind("", "", format, &[Some(value)], 0), execute("", 0), sync()];
        raw.stream.write_all(&messages.concat()).await.unwrap();
        let answers = raw.until_ready().await;
        let error = answers.iter().find(|m| m.kind == 'E').unwrap_or_else(|| panic!("{answers:?}"));
        assert_eq!(error.field(b'C').as_deref(), Some(code), "{:?}", error.field(b'M'));
    }
}

#[tokio::test]
async fn arrays_and_unsigned_numbers_reach_the_driver() {
    let server = TestServer::start().await;
    let client = server.client().await;
    let row = client.query_one("select array[1::bigint, 2, null] as a, row_number() over () as n", &[]).await.unwrap();
    assert_eq!(row.columns()[0].type_().name(), "_int8");
    assert_eq!(row.get::<_, Vec<Option<i64>>>(0), [Some(1), Some(2), None]);
    assert_eq!(row.get::<_, i64>(1), 1);
    let statement = client.prepare_typed("select 4 = any($1) as hit", &[Type::INT8_ARRAY]).await.unwrap();
    for (values, hit) in [(vec![4_i64, 5], true), (vec![6], false)] {
        assert_eq!(client.query_one(&statement, &[&values]).await.unwrap().get::<_, bool>(0), hit);
    }
}
