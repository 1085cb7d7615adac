//! Loading of files without SQL: what is decided about them, and that nothing is lost, made up or half there.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int32Array, Int64Array, ListArray, RecordBatch, StringArray};
use arrow::datatypes::Int32Type;
use braid_engine::{EngineError, LoadRequest};
use parquet::arrow::ArrowWriter;

use crate::test_db::TestDb;

/// A load of files in the directory of a database.
fn request(db: &TestDb, files: &[&str], table: &str) -> LoadRequest {
    let path = |file: &&str| db.dir.path().join(file).display().to_string();
    LoadRequest { files: files.iter().map(path).collect(), table: table.to_owned(), ..LoadRequest::default() }
}

fn write(db: &TestDb, file: &str, bytes: impl AsRef<[u8]>) {
    std::fs::write(db.dir.path().join(file), bytes).unwrap();
}

async fn load(db: &TestDb, request: LoadRequest) -> Result<u64, EngineError> {
    db.database.load(db.database.plan_load(request).await?).await
}

async fn load_file(db: &TestDb, file: &str, table: &str) -> Result<u64, EngineError> {
    load(db, request(db, &[file], table)).await
}

/// The columns of a plan as `name type`.
async fn planned(db: &TestDb, request: LoadRequest) -> String {
    let plan = db.database.plan_load(request).await.unwrap();
    let columns = plan.columns().iter().map(|column| format!("{} {}", column.name, column.sql_type));
    columns.collect::<Vec<_>>().join(", ")
}

fn parquet(path: &Path, columns: &[(&str, ArrayRef)]) {
    let batch = RecordBatch::try_from_iter(columns.iter().map(|(name, array)| (*name, array.clone()))).unwrap();
    let mut writer = ArrowWriter::try_new(File::create(path).unwrap(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}

#[tokio::test]
async fn values_come_back_as_they_were_written() {
    let db = TestDb::new().await;
    let csv = "Id;Zip;Price;Day;At;Flag;Note;Size\r\n1;01234;1.50;2024-02-29;2024-01-01T10:00:00Z;true;\"a;b\";1e3\r\n\
               2;99999;2;;2024-01-01 10:00:00+02;FALSE;;\"\"\r\n";
    write(&db, "x.csv", csv);
    let plan = db.database.plan_load(request(&db, &["x.csv"], "x")).await.unwrap();
    let columns: Vec<_> =
        plan.columns().iter().map(|column| (column.name.as_str(), column.sql_type.as_str())).collect();
    let expected = [
        ("id", "bigint"),
        ("zip", "text"),
        ("price", "numeric"),
        ("day", "date"),
        ("at", "timestamptz"),
        ("flag", "boolean"),
        ("note", "text"),
        ("size", "double precision"),
    ];
    assert_eq!(columns, expected);
    let why = &plan.columns()[1].why;
    assert!(why.contains("a leading zero of \"01234\"") && why.contains("line 2"), "{why}");
    assert!(plan.notes().iter().any(|note| note.starts_with("delimiter \";\"")), "{:?}", plan.notes());
    assert_eq!(db.database.load(plan).await.unwrap(), 2);
    db.check(&[(
        "select id, zip, price, day, at, flag, note, size from x order by id",
        "1|01234|1.50|2024-02-29|2024-01-01T10:00:00Z|true|a;b|1000.0\n\
         2|99999|2|NULL|2024-01-01T08:00:00Z|false|NULL|NULL",
    )])
    .await;
}

#[tokio::test]
async fn forms_are_found_or_given() {
    let db = TestDb::new().await;
    for (csv, expected) in [
        ("a\tb\n1\tx\n", "a bigint, b text"),
        ("a|b|c\r1|x|2024-01-01\r", "a bigint, b text, c date"),
        ("\u{feff}a,b\n1,2\n", "a bigint, b bigint"),
        ("1,x\n2,y\n", "column1 bigint, column2 text"),
        ("name\nKiel\nBonn\n", "name text"),
        ("a,a,\n1,2,3\n", "a bigint, a_2 bigint, column3 bigint"),
        ("a,b\n", "a text, b text"),
        ("a,b\n1,\"x\ny\"\n", "a bigint, b text"),
    ] {
        write(&db, "x.csv", csv);
        assert_eq!(planned(&db, request(&db, &["x.csv"], "x")).await, expected, "{csv}");
    }
    write(&db, "x.csv", "1,5;2,5\n3,5;4,5\n");
    let error = db.database.plan_load(request(&db, &["x.csv"], "x")).await.err().unwrap();
    assert!(error.sqlstate() == "22023" && error.message().contains("x.csv"), "{error:?}");
    let given = LoadRequest { delimiter: Some(';'), header: Some(false), ..request(&db, &["x.csv"], "x") };
    assert_eq!(planned(&db, given).await, "column1 text, column2 text");
    write(&db, "x.csv", "a,b,c\n1,NA,x\n-,2,\"NA\"\n");
    let mut given = LoadRequest { nulls: vec!["NA".into(), "-".into()], ..request(&db, &["x.csv"], "nulls") };
    given.add_types("a=numeric(5,1)").unwrap();
    assert_eq!(planned(&db, given.clone()).await, "a numeric(5,1), b bigint, c text");
    load(&db, given).await.unwrap();
    db.check(&[("select a, b, c from nulls order by a nulls last", "1.0|NULL|x\nNULL|2|NA")]).await;
}

#[tokio::test]
async fn an_outlier_behind_the_sample_stops_the_load_and_says_what_to_do() {
    let db = TestDb::new().await;
    let mut csv = "id,name\n".to_owned();
    (0..100_500).for_each(|row| csv.push_str(&format!("{row},n{row}\n")));
    write(&db, "x.csv", csv + "n/a,last\n");
    let error = load_file(&db, "x.csv", "x").await.unwrap_err();
    assert_eq!(error.sqlstate(), "22P02");
    let (context, hint) = (error.context().unwrap(), error.hint().unwrap());
    assert!(context.contains("x.csv, line 100502, column id: \"n/a\""), "{context}");
    assert!(hint.contains("--types id=text") && hint.contains("bigint"), "{hint}");
    assert_eq!(db.state("select * from x").await, "42P01");
    let mut given = request(&db, &["x.csv"], "x");
    given.add_types("id=text").unwrap();
    assert_eq!(load(&db, given).await.unwrap(), 100_501);
    let nulls = LoadRequest { nulls: vec!["n/a".into()], ..request(&db, &["x.csv"], "y") };
    assert_eq!(load(&db, nulls).await.unwrap(), 100_501);
    db.check(&[("select id from x where name = 'last'", "n/a"), ("select count(*) from y where id is null", "1")])
        .await;
}

#[tokio::test]
async fn compressed_files_are_read_and_damaged_ones_are_errors() {
    let db = TestDb::new().await;
    let csv = "a,b\n1,x\n2,y\n";
    let gzip = |text: &str| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    };
    // Two members, one after the other.
    write(&db, "x.csv.gz", [gzip("a,b\n1,x\n"), gzip("2,y\n")].concat());
    write(&db, "x.csv.zst", zstd::encode_all(csv.as_bytes(), 0).unwrap());
    assert_eq!(load(&db, request(&db, &["x.csv.*"], "x")).await.unwrap(), 4);
    db.check(&[("select a, b, count(*) from x group by a, b order by a", "1|x|2\n2|y|2")]).await;
    let mut cut = gzip(&csv.repeat(1000));
    cut.truncate(cut.len() / 2);
    for (bytes, state) in [
        (cut, "22P04"),
        (b"\xfd7zXZ\0more".to_vec(), "0A000"),
        (b"PK\x03\x04more".to_vec(), "0A000"),
        (b"\xff\xfea\0,\0".to_vec(), "0A000"),
        (b"a,b\n1,x\0y\n".to_vec(), "22021"),
        (b"a,b\n1,\xe4\n".to_vec(), "22021"),
        (b"a,b\n1,x\r\n".to_vec(), "22P04"),
        (b"a,b\n1,\"x\n".to_vec(), "22P04"),
        (b"a,b\n1,2\n3\n".to_vec(), "22P04"),
        (b"".to_vec(), "22P04"),
    ] {
        write(&db, "bad.csv", &bytes);
        let error = load_file(&db, "bad.csv", "bad").await.unwrap_err();
        assert_eq!(error.sqlstate(), state, "{bytes:x?}: {error:?}");
        assert!(format!("{error:?}").contains("bad.csv"), "{error:?}");
        assert_eq!(db.state("select * from bad").await, "42P01");
    }
}

#[tokio::test]
async fn several_files_are_one_load() {
    let db = TestDb::new().await;
    write(&db, "1.csv", "a,b\n1,x\n");
    write(&db, "2.csv", "a,b\n2.5,y\n");
    write(&db, "3.csv", "a,c\n3,z\n");
    write(&db, "4.csv", "a,b\n4,\"w\n");
    assert_eq!(load(&db, request(&db, &["[12].csv"], "x")).await.unwrap(), 2);
    db.check(&[("select a, b from x order by a", "1|x\n2.5|y")]).await;
    let error = load(&db, request(&db, &["1.csv", "3.csv"], "y")).await.unwrap_err();
    assert_eq!(error.sqlstate(), "42804");
    assert!(error.message().contains("3.csv") && error.detail().unwrap().contains("(a, c), not (a, b)"), "{error:?}");
    assert_eq!(load(&db, request(&db, &["1.csv", "4.csv"], "y")).await.unwrap_err().sqlstate(), "22P04");
    assert_eq!(load(&db, request(&db, &["1.csv", "no.csv"], "y")).await.unwrap_err().sqlstate(), "58P01");
    assert_eq!(load(&db, request(&db, &["no*.csv"], "y")).await.unwrap_err().sqlstate(), "58P01");
    assert_eq!(db.state("select * from y").await, "42P01");
    let error = load_file(&db, "1.csv", "x").await.unwrap_err();
    assert_eq!((error.sqlstate(), error.hint().unwrap().contains("--append")), ("42P07", true));
}

#[tokio::test]
async fn rows_are_appended_to_columns_by_name_with_the_tables_types_and_checks() {
    let db = TestDb::new().await;
    db.run("create schema s;; create table s.t (id int primary key, \"Name\" text, n numeric(6,2) default 7, g int generated always as (id * 2) stored)").await;
    write(&db, "x.csv", "name,id\nx,1\ny,2\n");
    let append = |files: &[&str]| LoadRequest { append: true, ..request(&db, files, "s.T") };
    assert_eq!(load(&db, append(&["x.csv"])).await.unwrap(), 2);
    db.check(&[("select * from s.t order by id", "1|x|7.00|2\n2|y|7.00|4")]).await;
    for (csv, state) in [
        ("name,id\nz,3\nx,1\n", "23505"),
        ("name,id\nz,3\nw,x\n", "22P02"),
        ("name,other\nz,3\n", "42703"),
        ("1,x\n", "42804"),
    ] {
        write(&db, "y.csv", csv);
        assert_eq!(load(&db, append(&["y.csv"])).await.unwrap_err().sqlstate(), state, "{csv}");
    }
    write(&db, "y.csv", "3,z,1.5\n");
    assert_eq!(load(&db, append(&["y.csv"])).await.unwrap(), 1);
    let mut typed = append(&["y.csv"]);
    typed.add_types("id=int").unwrap();
    assert_eq!(load(&db, typed).await.unwrap_err().sqlstate(), "22023");
    let missing = LoadRequest { append: true, ..request(&db, &["y.csv"], "missing") };
    assert_eq!(load(&db, missing).await.unwrap_err().sqlstate(), "42P01");
    db.check(&[("select count(*), sum(n) from s.t", "3|15.50")]).await;
}

#[tokio::test]
async fn parquet_files_load_together_and_fit_their_table() {
    let db = TestDb::new().await;
    let path = |file: &str| db.dir.path().join(file);
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["x", "y"]));
    let ints: ArrayRef = Arc::new(Int32Array::from(vec![1, 2]));
    let longs: ArrayRef = Arc::new(Int64Array::from(vec![3, 4]));
    parquet(&path("1.parquet"), &[("Id", ints.clone()), ("name", texts.clone())]);
    parquet(&path("2.parquet"), &[("id", ints.clone()), ("name", texts.clone())]);
    parquet(&path("3.parquet"), &[("id", longs), ("name", texts.clone())]);
    let lists: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>([Some(vec![Some(1)]), None]));
    parquet(&path("lists.parquet"), &[("id", ints), ("list", lists)]);
    assert_eq!(planned(&db, request(&db, &["[12].parquet"], "p")).await, "id integer, name text");
    assert_eq!(load(&db, request(&db, &["[12].parquet"], "p")).await.unwrap(), 4);
    let append = |files: &[&str]| LoadRequest { append: true, ..request(&db, files, "p") };
    assert_eq!(load(&db, append(&["1.parquet"])).await.unwrap(), 2);
    for (request, state, part) in [
        (request(&db, &["1.parquet", "3.parquet"], "q"), "42804", "3.parquet"),
        (append(&["3.parquet"]), "42804", "column \"id\" of file"),
        (request(&db, &["lists.parquet"], "q"), "0A000", "column \"list\" of file"),
    ] {
        let error = load(&db, request).await.unwrap_err();
        assert!(error.sqlstate() == state && error.message().contains(part), "{error:?}");
    }
    db.run("create table lists (id int, list int)").await;
    let copy = format!("copy lists from '{}' (format parquet)", path("lists.parquet").display());
    let error = db.fail(&copy).await;
    assert!(error.sqlstate() == "0A000" && error.message().contains("column \"list\""), "{error:?}");
    db.check(&[("select count(*), sum(id) from p", "6|9")]).await;
}

/// Every byte is damaged once: the load fails or has all rows, as a value in a page without a checksum may be another one; nothing panics.
#[tokio::test]
async fn a_damaged_parquet_file_is_an_error() {
    let db = TestDb::new().await;
    let path = db.dir.path().join("x.parquet");
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values((0..50).map(|row| row * 7919)));
    let names: ArrayRef = Arc::new(StringArray::from_iter_values((0..50).map(|row| format!("name {}", row % 5))));
    parquet(&path, &[("id", ids), ("name", names)]);
    let whole = std::fs::read(&path).unwrap();
    db.run("create table t (id bigint, name text)").await;
    let copy = format!("copy t from '{}' (format parquet)", path.display());
    let (mut failed, mut named) = (0, 0);
    for at in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[at] ^= 0xFF;
        std::fs::write(&path, &damaged).unwrap();
        match crate::test_db::run(&db.session, &copy).await {
            Ok(tag) => assert_eq!(tag, "COPY 50", "byte {at}"),
            Err(error) => {
                failed += 1;
                assert!(!error.sqlstate().starts_with("XX"), "byte {at}: {error:?}");
                named += usize::from(error.message().contains("column \""));
            }
        }
    }
    assert!(failed > whole.len() / 4 && named > 20, "{failed} of {} failed, {named} with the column", whole.len());
    for length in [0, 3, 8, whole.len() / 2, whole.len() - 1] {
        std::fs::write(&path, &whole[..length]).unwrap();
        let error = db.fail(&copy).await;
        assert!(error.sqlstate() == "22P04" && error.message().contains("x.parquet"), "{length}: {error:?}");
    }
}
