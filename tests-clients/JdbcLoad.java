import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;

/**
 * JDBC under load: threads ask random constants of a few templates, with sharing auto and global, as text and prepared, with text and
 * binary results, and with fetch sizes. Each answer must equal the one that a session with sharing off gave before.
 */
public class JdbcLoad {
    static final int THREADS = 16;
    static final long SECONDS = 4;
    static final long SEED = 7;
    /** Statements with a place for a constant, which is one of the values below. */
    static final String[] TEMPLATES = {
        "select g, count(*), sum(v), min(s) from loaded where v < ? group by g order by g",
        "select id, v, n, s from loaded where v = ? order by id",
        "select count(*), sum(l.n) from loaded as l join other as o on l.g = o.g where o.w > ? and l.v < 90",
        "select distinct s from loaded where id % 7 = 0 and v > ? order by s limit 20",
        "select sum(1000 / (v - ?)) from loaded",
    };
    static final int[] CONSTANTS = {-1, 3, 50, 77, 150};

    static String rows(ResultSet rows) throws SQLException {
        StringBuilder text = new StringBuilder();
        int columns = rows.getMetaData().getColumnCount();
        while (rows.next()) {
            for (int column = 1; column <= columns; column++) {
                text.append(rows.getString(column)).append('|');
            }
            text.append('\n');
        }
        return text.toString();
    }

    /** The rows as text, or the SQLSTATE of the error. */
    static String ask(Connection connection, String template, int constant, boolean prepared, int fetch)
            throws SQLException {
        // A fetch size takes effect only in a transaction.
        connection.setAutoCommit(fetch == 0);
        try {
            if (!prepared) {
                try (Statement statement = connection.createStatement()) {
                    statement.setFetchSize(fetch);
                    return rows(statement.executeQuery(template.replace("?", "(" + constant + ")")));
                }
            }
            try (PreparedStatement statement = connection.prepareStatement(template)) {
                statement.setFetchSize(fetch);
                statement.setInt(1, constant);
                return rows(statement.executeQuery());
            }
        } catch (SQLException error) {
            if (error.getSQLState().startsWith("08")) {
                throw error;
            }
            return error.getSQLState();
        } finally {
            if (!connection.getAutoCommit()) {
                connection.rollback();
            }
        }
    }

    public static void main(String[] arguments) throws Exception {
        String url = "jdbc:postgresql://127.0.0.1:" + System.getenv("PGPORT") + "/braid?user=braid";
        Map<String, String> expected = new HashMap<>();
        AtomicReference<String> failure = new AtomicReference<>();
        AtomicLong asked = new AtomicLong();
        try (Connection alone = DriverManager.getConnection(url); Statement statement = alone.createStatement()) {
            statement.execute("drop table if exists loaded");
            statement.execute("drop table if exists other");
            statement.execute("create table loaded (id integer not null, g integer, v integer, n numeric(10,2), s text)");
            statement.execute("insert into loaded select value, value % 9,"
                + " case when value % 11 > 0 then value * 7 % 200 end, cast(value % 1000 as numeric(10,2)) * 0.25,"
                + " 'name ' || (value % 50) from generate_series(1, 20000) as t(value)");
            statement.execute("create table other (g integer, w integer)");
            statement.execute("insert into other select value % 9, value % 10 from generate_series(1, 200) as t(value)");
            statement.execute("set braid.sharing = off");
            statement.execute("set braid.templates = off");
            for (String template : TEMPLATES) {
                for (int constant : CONSTANTS) {
                    expected.put(template + constant, ask(alone, template, constant, false, 0));
                }
            }
            if (!expected.containsValue("22012")) {
                throw new AssertionError("jdbc under load: no constant divides by zero: " + expected);
            }
            long until = System.nanoTime() + SECONDS * 1_000_000_000L;
            List<Thread> threads = new ArrayList<>();
            for (int number = 0; number < THREADS; number++) {
                int of = number;
                Thread thread = new Thread(() -> {
                    Random random = new Random(SEED * 1000 + of);
                    // From the first execution on, or never, the driver prepares and asks for binary.
                    String how = url + "&prepareThreshold=" + (of % 4 < 2 ? "-1" : "0");
                    try (Connection connection = DriverManager.getConnection(how)) {
                        try (Statement set = connection.createStatement()) {
                            set.execute("set braid.sharing = " + (of % 2 == 0 ? "auto" : "global"));
                        }
                        while (System.nanoTime() < until && failure.get() == null) {
                            String template = TEMPLATES[random.nextInt(TEMPLATES.length)];
                            int constant = CONSTANTS[random.nextInt(CONSTANTS.length)];
                            boolean prepared = random.nextBoolean();
                            int fetch = random.nextInt(4) == 0 ? 7 : 0;
                            String got = ask(connection, template, constant, prepared, fetch);
                            String right = expected.get(template + constant);
                            if (!got.equals(right)) {
                                failure.compareAndSet(null, template + " with " + constant + ", prepared " + prepared
                                    + ", fetch size " + fetch + ": " + got + ", expected " + right);
                            }
                            asked.incrementAndGet();
                        }
                    } catch (Exception error) {
                        failure.compareAndSet(null, "thread " + of + ": " + error);
                    }
                });
                thread.start();
                threads.add(thread);
            }
            for (Thread thread : threads) {
                thread.join();
            }
            if (failure.get() != null) {
                throw new AssertionError("jdbc under load, seed " + SEED + ": " + failure.get());
            }
            try (ResultSet shared = statement.executeQuery(
                    "select coalesce(sum(queries), 0) from braid_passes where queries > 1")) {
                shared.next();
                if (asked.get() < THREADS || shared.getLong(1) == 0) {
                    throw new AssertionError("jdbc under load: " + asked + " answers, " + shared.getLong(1) + " shared");
                }
                System.out.println("jdbc under load: " + asked + " answers, all as with sharing off; "
                    + shared.getLong(1) + " queries of the last passes shared one");
            }
        }
    }
}
