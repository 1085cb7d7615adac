import java.io.StringReader;
import java.io.StringWriter;
import java.math.BigDecimal;
import java.sql.Array;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.Date;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.sql.Statement;
import java.sql.Timestamp;
import java.util.Arrays;
import java.util.Objects;
import java.util.UUID;
import org.postgresql.PGConnection;

/** PostgreSQL's JDBC driver: types, prepared statements, batches, CopyManager, cursors by fetch size, metadata, cancel. */
public class JdbcClient {
    static void check(String what, Object got, Object expected) {
        if (!Objects.equals(got, expected)) {
            throw new AssertionError("jdbc, " + what + ": got " + got + ", expected " + expected);
        }
    }

    interface Work {
        void run() throws SQLException;
    }

    static void fails(String state, Work work) throws SQLException {
        try {
            work.run();
        } catch (SQLException error) {
            check("SQLSTATE of " + error.getMessage(), error.getSQLState(), state);
            return;
        }
        throw new AssertionError("jdbc: nothing failed with " + state);
    }

    public static void main(String[] arguments) throws Exception {
        String port = System.getenv("PGPORT");
        String url = "jdbc:postgresql://127.0.0.1:" + port + "/braid?user=braid";
        // From the fifth execution on the driver prepares and asks for binary; with -1 it does so from the first.
        for (String threshold : new String[] {"5", "-1"}) {
            try (Connection connection = DriverManager.getConnection(url + "&prepareThreshold=" + threshold)) {
                try (Statement statement = connection.createStatement()) {
                    statement.execute("drop table if exists things");
                    statement.execute("create table things (id integer not null, name varchar(20), price numeric(10,2),"
                        + " made date, seen timestamp, key uuid, data bytea)");
                }
                prepared(connection);
                batches(connection);
                transactions(connection);
                copying(connection);
                cursors(connection);
                metadata(connection);
                failures(connection);
                cancelling(connection);
            }
        }
    }

    static void prepared(Connection connection) throws SQLException {
        UUID key = UUID.fromString("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11");
        Timestamp seen = Timestamp.valueOf("2024-02-29 12:34:56.789");
        try (PreparedStatement insert =
                connection.prepareStatement("insert into things values (?, ?, ?, ?, ?, ?, ?)")) {
            for (int id = 1; id <= 10; id++) {
                insert.setInt(1, id);
                insert.setString(2, "name " + id);
                insert.setBigDecimal(3, new BigDecimal("10.25").multiply(new BigDecimal(id)));
                insert.setDate(4, Date.valueOf("2024-02-29"));
                insert.setTimestamp(5, seen);
                insert.setObject(6, key);
                insert.setBytes(7, new byte[] {0, (byte) id});
                check("rows inserted", insert.executeUpdate(), 1);
            }
        }
        try (PreparedStatement select =
                connection.prepareStatement("select * from things where id = ? and price > ? and made < ?")) {
            for (int id = 1; id <= 10; id++) {
                select.setInt(1, id);
                select.setBigDecimal(2, new BigDecimal("10.245"));
                select.setDate(3, Date.valueOf("2024-03-01"));
                try (ResultSet rows = select.executeQuery()) {
                    check("row " + id, rows.next(), true);
                    check("text", rows.getString("name"), "name " + id);
                    check("numeric", rows.getBigDecimal("price"), new BigDecimal("10.25").multiply(new BigDecimal(id)));
                    check("date", rows.getDate("made"), Date.valueOf("2024-02-29"));
                    check("timestamp", rows.getTimestamp("seen"), seen);
                    check("uuid", rows.getObject("key"), key);
                    check("bytea", Arrays.toString(rows.getBytes("data")), "[0, " + id + "]");
                    check("one row", rows.next(), false);
                }
            }
        }
        try (PreparedStatement select =
                connection.prepareStatement("select count(*) from things where id = any(?)")) {
            Array ids = connection.createArrayOf("int4", new Integer[] {1, 2, 99});
            select.setArray(1, ids);
            try (ResultSet rows = select.executeQuery()) {
                rows.next();
                check("= any(array)", rows.getLong(1), 2L);
            }
        }
    }

    /** A batch is sent before one Sync: a transaction of several writes. */
    static void batches(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.addBatch("insert into things (id) values (100)");
            statement.addBatch("insert into things (id) values (101)");
            check("a batch", statement.executeBatch().length, 2);
            statement.addBatch("insert into things (id) values (102)");
            statement.addBatch("insert into things (id) values (null)");
            try {
                statement.executeBatch();
                throw new AssertionError("JDBC: a null was taken");
            } catch (SQLException error) {
                check("a batch's SQLSTATE", error.getSQLState(), "23502");
            }
            check("rows after a failed batch", stored(statement), 2L);
        }
    }

    /** Without autocommit a block begins with the first statement. */
    static void transactions(Connection connection) throws SQLException {
        connection.setAutoCommit(false);
        try (Statement statement = connection.createStatement()) {
            statement.executeUpdate("insert into things (id) values (103)");
            Savepoint savepoint = connection.setSavepoint();
            statement.executeUpdate("insert into things (id) values (104)");
            connection.rollback(savepoint);
            check("rows after a savepoint", stored(statement), 3L);
            connection.rollback();
            check("rows after a rollback", stored(statement), 2L);
            statement.executeUpdate("insert into things (id) values (105)");
            connection.commit();
            check("rows after a commit", stored(statement), 3L);
            check("rows updated", statement.executeUpdate("update things set name = 'x' where id > 100"), 2);
            check("rows deleted", statement.executeUpdate("delete from things where id >= 100"), 3);
            connection.commit();
        } finally {
            connection.setAutoCommit(true);
        }
    }

    static long stored(Statement statement) throws SQLException {
        try (ResultSet rows = statement.executeQuery("select count(*) from things where id >= 100")) {
            rows.next();
            return rows.getLong(1);
        }
    }

    static void copying(Connection connection) throws Exception {
        var copies = connection.unwrap(PGConnection.class).getCopyAPI();
        long rows = copies.copyIn("copy things (id, name) from stdin (format csv)", new StringReader("11,eleven\n12,\n"));
        check("rows copied in", rows, 2L);
        StringWriter out = new StringWriter();
        check("rows copied out", copies.copyOut("copy (select id, name from things where id > 10 order by id) to stdout", out), 2L);
        check("copied text", out.toString(), "11\televen\n12\t\\N\n");
        fails("22P02", () -> {
            try {
                copies.copyIn("copy things (id) from stdin", new StringReader("x\n"));
            } catch (java.io.IOException error) {
                throw new AssertionError(error);
            }
        });
        copies.copyOut("copy (select 1) to stdout", new StringWriter());
    }

    static void cursors(Connection connection) throws SQLException {
        connection.setAutoCommit(false);
        try (PreparedStatement select = connection.prepareStatement("select value from generate_series(1, 10000) as t(value)")) {
            select.setFetchSize(500);
            long sum = 0;
            try (ResultSet rows = select.executeQuery()) {
                while (rows.next()) {
                    sum += rows.getLong(1);
                }
            }
            check("sum by cursor", sum, 50_005_000L);
            // Without an end: only a cursor can read its beginning.
            try (PreparedStatement endless =
                    connection.prepareStatement("select value from generate_series(1, 1000000000000) as t(value)")) {
                endless.setFetchSize(100);
                try (ResultSet rows = endless.executeQuery()) {
                    for (int row = 1; row <= 1000; row++) {
                        rows.next();
                        check("endless", rows.getLong(1), (long) row);
                    }
                }
            }
        }
        connection.commit();
        connection.setAutoCommit(true);
    }

    static void metadata(Connection connection) throws SQLException {
        DatabaseMetaData metadata = connection.getMetaData();
        check("product", metadata.getDatabaseProductName(), "PostgreSQL");
        boolean found = false;
        try (ResultSet tables = metadata.getTables(null, "public", "things", new String[] {"TABLE"})) {
            found = tables.next() && tables.getString("TABLE_NAME").equals("things");
        }
        check("getTables", found, true);
        StringBuilder columns = new StringBuilder();
        try (ResultSet rows = metadata.getColumns(null, "public", "things", "%")) {
            while (rows.next()) {
                columns.append(rows.getString("COLUMN_NAME")).append(' ').append(rows.getString("TYPE_NAME")).append(',');
            }
        }
        check("getColumns", columns.toString(),
            "id int4,name varchar,price numeric,made date,seen timestamp,key uuid,data bytea,");
        try (PreparedStatement select = connection.prepareStatement("select id, price from things where id = ?")) {
            check("parameters", select.getParameterMetaData().getParameterTypeName(1), "int4");
            check("scale", select.getMetaData().getScale(2), 2);
        }
    }

    static void failures(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            fails("42P01", () -> statement.executeQuery("select * from nowhere"));
            fails("42601", () -> statement.executeQuery("selec 1"));
            fails("23502", () -> statement.executeUpdate("insert into things (id) values (null)"));
            fails("0A000", () -> statement.executeUpdate("create trigger t before insert on things for each row execute function f()"));
            connection.setAutoCommit(false);
            fails("22012", () -> statement.executeQuery("select 1 / 0"));
            fails("25P02", () -> statement.executeQuery("select 1"));
            connection.rollback();
            connection.setAutoCommit(true);
            try (ResultSet rows = statement.executeQuery("select 1")) {
                check("after the failures", rows.next(), true);
            }
        }
    }

    static void cancelling(Connection connection) throws Exception {
        try (Statement statement = connection.createStatement()) {
            Thread canceller = new Thread(() -> {
                try {
                    Thread.sleep(500);
                    statement.cancel();
                } catch (Exception error) {
                    throw new AssertionError(error);
                }
            });
            canceller.start();
            fails("57014", () -> statement.executeQuery("select sum(value * 3 % 7) from generate_series(1, 1000000000000) as s(value)"));
            canceller.join();
        }
    }
}
