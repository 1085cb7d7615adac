//! COPY, and loading without SQL.

use std::fs::File;
use std::sync::Arc;

use arrow::array::{Float64Array, Int64Array, RecordBatch, StringArray};
use braid_engine::Outcome;
use parquet::arrow::ArrowWriter;
use tokio_util::sync::CancellationToken;

use crate::test_db::{TestDb, copy_bytes_in, copy_in};

fn write_parquet(path: &std::path::Path, rows: i64) {
    let batch = RecordBatch::try_from_iter([
        ("id", Arc::new(Int64Array::from_iter_values(0..rows)) as _),
        ("Name", Arc::new(StringArray::from_iter_values((0..rows).map(|row| format!("name {row}")))) as _),
        ("price", Arc::new(Float64Array::from_iter_values((0..rows).map(|row| row as f64 / 4.0))) as _),
    ])
    .unwrap();
    let mut writer = ArrowWriter::try_new(File::create(path).unwrap(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}

#[tokio::test]
async fn csv_from_a_client_in_any_pieces() {
    let db = TestDb::new().await;
    db.run("create table t (a int, b text default 'none', c numeric(6,2))").await;
    let csv = "a,b,c\n1,\"x, \"\"y\"\"\nz\",1.005\n2,,\n3,\"\",-7";
    for piece in [1, 7, 1000] {
        let copied = copy_in(&db.session, "copy t from stdin (format csv, header)", csv, piece).await.unwrap();
        assert_eq!(copied, 3);
    }
    db.check(&[
        ("select count(*), sum(c) from t", "9|-17.97"),
        ("select distinct a, b, c from t order by a", "1|x, \"y\"\nz|1.01\n2|NULL|NULL\n3||-7.00"),
    ])
    .await;
    assert_eq!(copy_in(&db.session, "copy t (c, a) from stdin csv", "5,4\n", 3).await.unwrap(), 1);
    db.check(&[("select a, b, c from t where a = 4", "4|none|5.00")]).await;
}

/// What PostgreSQL 15 writes of the rows below.
const BINARY: &str = "5047434f50590aff0d0a000000000000000000\
    0006000000040000000100000002c3a4000000080002b3711a3860800000000c000200000000000200011388000000010100000020000000010000\
    00010000001700000002000000010000000400000001ffffffff\
    0006ffffffffffffffffffffffffffffffffffffffffffffffff\
    000600000004ffffffff00000000000000087fffffffffffffff0000000a0001ffff40000002006400000001000000000c00000000000000000000\
    0017\
    ffff";

fn bytes_of(hex: &str) -> Vec<u8> {
    let digits: Vec<u32> = hex.chars().filter_map(|digit| digit.to_digit(16)).collect();
    digits.chunks(2).map(|pair| (pair[0] * 16 + pair[1]) as u8).collect()
}

async fn copy_bytes_out(db: &TestDb, sql: &str) -> Vec<Vec<u8>> {
    let statement = db.session.parse(sql).unwrap().remove(0);
    let outcome = db.session.execute(&statement, vec![], CancellationToken::new()).await.unwrap();
    let Outcome::CopyOut(mut copy) = outcome else { panic!("{outcome:?}") };
    assert!(copy.is_binary());
    let mut records = Vec::new();
    while let Some(piece) = copy.next().await {
        records.extend(piece.unwrap().iter().map(<[u8]>::to_vec));
    }
    records
}

#[tokio::test]
async fn the_binary_format_is_postgresqls() {
    let db = TestDb::new().await;
    db.run("create table t (a int, b text, c timestamptz, d numeric(6,2), e bool, f int[]);; create table u (like t)")
        .await;
    db.run("insert into t values (1, 'ä', '2024-02-03 04:05:06+00', 1.5, true, '{1,NULL}'), (null, null, null, null, null, null)")
        .await;
    db.run("insert into t values (-1, '', 'infinity', -0.01, false, '{}')").await;
    let data = bytes_of(BINARY);
    let written = copy_bytes_out(&db, "copy t to stdout (format binary)").await;
    assert_eq!((written.len(), written.concat()), (4, data.clone()));
    for piece in [1, 11, 4096] {
        db.run("truncate u").await;
        assert_eq!(copy_bytes_in(&db.session, "copy u from stdin (format binary)", &data, piece).await.unwrap(), 3);
        assert_eq!(copy_bytes_out(&db, "copy u to stdout binary").await.concat(), data);
    }
    // The header comes with the end, if there are no rows; without the mark of its end the data is complete, too.
    let empty = copy_bytes_out(&db, "copy (select 1 where false) to stdout (format binary)").await;
    assert_eq!(empty, [[&data[..19], b"\xff\xff"].concat()]);
    assert_eq!(copy_bytes_in(&db.session, "copy u from stdin binary", &data[..data.len() - 2], 5).await.unwrap(), 3);
    let path = db.dir.path().join("t.bin");
    std::fs::write(&path, &data).unwrap();
    assert_eq!(db.run(&format!("copy u from '{}' (format binary)", path.display())).await, "COPY 3");
    assert_eq!(
        db.run("copy (select c, 'infinity'::date from t order by a limit 1) to stdout").await,
        "infinity\tinfinity\n"
    );
}

#[tokio::test]
async fn what_is_no_binary_data_is_refused_and_nothing_is_stored() {
    let db = TestDb::new().await;
    db.run("create table t (a int not null, b text check (b <> 'bad'))").await;
    let header = bytes_of("5047434f50590aff0d0a000000000000000000");
    let row = |fields: &[Option<&[u8]>]| {
        let mut bytes = (fields.len() as i16).to_be_bytes().to_vec();
        for field in fields {
            bytes.extend(field.map_or(-1, |field| field.len() as i32).to_be_bytes());
            bytes.extend(field.unwrap_or_default());
        }
        bytes
    };
    let one = &1_i32.to_be_bytes()[..];
    let good = row(&[Some(one), Some(b"x")]);
    let with = |parts: &[&[u8]]| [&header[..], &parts.concat()].concat();
    for (data, state, context) in [
        (Vec::new(), "22P04", None),
        (b"PGCOPY".to_vec(), "22P04", None),
        (b"1\tx\n".to_vec(), "22P04", None),
        (header[..13].to_vec(), "22P04", None),
        ([&header[..11], &[0, 1, 0, 0, 0, 0, 0, 0]].concat(), "22P04", None),
        (with(&[&row(&[Some(one)])]), "22P04", Some("COPY t, line 1")),
        (with(&[&good, &row(&[Some(one), None, None])]), "22P04", Some("COPY t, line 2")),
        (with(&[&good, &good[..5]]), "22P04", Some("COPY t, line 2")),
        (with(&[&good, b"\xff\xff", b"z"]), "22P04", Some("COPY t, line 1")),
        (with(&[b"\0\x02\xff\xff\xff\xfe"]), "22P04", Some("COPY t, line 1")),
        (with(&[&good, &row(&[Some(b"ab"), None])]), "08P01", Some("COPY t, line 2, column a")),
        (with(&[&good, &row(&[Some(one), Some(b"\xff")])]), "22021", Some("COPY t, line 2, column b")),
        // An earlier row that cannot be stored comes first.
        (with(&[&row(&[None, None]), &row(&[Some(b"ab"), None])]), "23502", Some("COPY t, line 1")),
        (with(&[&good, &row(&[Some(one), Some(b"bad")])]), "23514", Some("COPY t, line 2")),
    ] {
        for piece in [1, 1000] {
            let copied = copy_bytes_in(&db.session, "copy t from stdin (format binary)", &data, piece).await;
            let error = copied.unwrap_err();
            assert_eq!((error.sqlstate(), error.context().as_deref()), (state, context), "{data:x?}: {error:?}");
        }
    }
    db.check(&[("select count(*) from t", "0")]).await;
}

#[tokio::test]
async fn the_text_format_reads_what_it_writes() {
    let db = TestDb::new().await;
    db.run("create table t (a int, b text, c timestamp, d bool)").await;
    let text = "1\ta\\tb\\\\c\\nd\t2024-01-01 10:00:00.5\tt\n2\t\\N\t\\N\tf\n\\.\nignored";
    assert_eq!(copy_in(&db.session, "copy t from stdin", text, 5).await.unwrap(), 2);
    let written = db.run("copy (select * from t order by a) to stdout").await;
    assert_eq!(written, "1\ta\\tb\\\\c\\nd\t2024-01-01 10:00:00.5\tt\n2\t\\N\t\\N\tf\n");
    db.run("create table u as select * from t with no data").await;
    assert_eq!(copy_in(&db.session, "copy u from stdin", &written, 1000).await.unwrap(), 2);
    db.check(&[
        ("select count(*) from (select * from t except select * from u) s", "0"),
        (
            "copy (select a, b from t order by a) to stdout (format csv, header, force_quote (a), null '-')",
            "a,b\n\"1\",\"a\tb\\c\nd\"\n\"2\",-\n",
        ),
        ("copy t (a) to stdout csv", "1\n2\n"),
    ])
    .await;
}

#[tokio::test]
async fn a_malformed_row_keeps_nothing_and_says_where() {
    let db = TestDb::new().await;
    db.run("create table t (a int not null, b date)").await;
    let path = db.dir.path().join("bad.csv");
    for (csv, sqlstate, context) in [
        ("1,2024-01-01\nx,2024-01-01\n", "22P02", "line 2, column a: \"x\""),
        ("1,2024-01-01\n2,never\n", "22007", "line 2, column b: \"never\""),
        ("1,2024-01-01\n2\n", "22P04", "line 2"),
        ("1,2024-01-01,3\n", "22P04", "line 1"),
        ("1,\"2024-01-01\n", "22P04", "file"),
        ("1,2024-01-01\n,2024-01-01\n", "23502", "line 2"),
        ("1,2024-01-01\n99999999999,\n", "22003", "line 2, column a: \"99999999999\""),
    ] {
        std::fs::write(&path, csv).unwrap();
        let error = db.fail(&format!("copy t from '{}' (format csv)", path.display())).await;
        assert_eq!(error.sqlstate(), sqlstate, "{csv}: {error:?}");
        let found = error.context().unwrap_or_default();
        assert!(found.contains(context) && found.contains("bad.csv"), "{csv}: {error:?}");
        let error = copy_in(&db.session, "copy t from stdin csv", csv, 4).await.unwrap_err();
        assert_eq!(error.sqlstate(), sqlstate, "{csv}: {error:?}");
    }
    db.check(&[("select count(*) from t", "0")]).await;
    db.check_states(&[
        ("copy t from '/nosuch/file.csv' csv", "58P01"),
        ("copy nosuch from stdin", "42P01"),
        ("copy t (nosuch) from stdin", "42703"),
        ("copy t from program 'cat'", "0A000"),
        ("copy t to '/tmp/x'", "0A000"),
        ("copy (select 1 / 0) to stdout", "22012"),
    ])
    .await;
}

#[tokio::test]
async fn parquet_columns_find_their_names() {
    let db = TestDb::new().await;
    let path = db.dir.path().join("x.parquet");
    write_parquet(&path, 10_000);
    let copy = |what: &str| format!("copy {what} from '{}' (format parquet)", path.display());
    db.run("create table t (price numeric(10,1), id int, name varchar(20))").await;
    db.check(&[
        (&copy("t"), "COPY 10000"),
        ("select count(*), sum(id), min(name), max(price) from t", "10000|49995000|name 0|2499.8"),
        (&copy("t (id)"), "COPY 10000"),
        ("select count(*) from t where name is null", "10000"),
        ("create table narrow (id smallint)", "CREATE TABLE"),
    ])
    .await;
    db.check_states(&[(&copy("narrow"), "42703"), ("copy t from '/dev/null' (format parquet)", "22P04")]).await;
    db.run("create table other (id bigint, missing int)").await;
    assert_eq!(db.state(&copy("other")).await, "42703");
}

#[tokio::test]
async fn files_load_without_a_definition() {
    let db = TestDb::new().await;
    let parquet = db.dir.path().join("x.parquet");
    write_parquet(&parquet, 1000);
    assert_eq!(db.database.load_file(&parquet, "p").await.unwrap(), 1000);
    db.check(&[("select count(*), max(name), sum(price) from p", "1000|name 999|124875.0")]).await;
    assert_eq!(db.database.load_file(&parquet, "p").await.unwrap_err().sqlstate(), "42P07");
}

#[tokio::test]
async fn labels_come_from_texts_of_parquet_files_and_from_nothing_else() {
    let db = TestDb::new().await;
    let path = db.dir.path().join("x.parquet");
    write_parquet(&path, 3);
    let copy = |what: &str| format!("copy {what} from '{}' (format parquet)", path.display());
    db.run("create type label as enum ('name 2', 'name 1', 'name 0')").await;
    db.run("create table t (id label, name label)").await;
    assert_eq!(db.run(&copy("t (name)")).await, "COPY 3");
    assert_eq!(db.run("select id, name from t order by name").await, "NULL|name 2\nNULL|name 1\nNULL|name 0");
    assert_eq!(db.state(&copy("t (id)")).await, "42804");
    write_parquet(&path, 4);
    let error = db.fail(&copy("t (name)")).await;
    assert_eq!((error.sqlstate(), error.message()), ("22P02", "invalid input value for enum label: \"name 3\""));
    assert_eq!(copy_in(&db.session, "copy t from stdin csv", "name 0,name 1\n", 5).await.unwrap(), 1);
    let error = copy_in(&db.session, "copy t from stdin csv", "name 0,name 9\n", 5).await.unwrap_err();
    assert_eq!(error.sqlstate(), "22P02");
    assert!(error.context().is_some_and(|context| context.contains("column name")), "{error:?}");
}
