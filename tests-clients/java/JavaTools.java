import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import jakarta.persistence.*;
import java.math.BigDecimal;
import java.nio.file.Path;
import java.sql.*;
import java.time.*;
import java.util.*;
import java.util.concurrent.*;
import org.flywaydb.core.Flyway;
import org.hibernate.SessionFactory;
import org.hibernate.cfg.Configuration;

/** Tools of Java against a server: HikariCP's pool, Flyway, Liquibase, Hibernate with its schema update. */
public class JavaTools {
    static final String URL = "jdbc:postgresql://127.0.0.1:" + System.getenv("PGPORT") + "/braid";

    static void expect(Object got, Object want) {
        if (!Objects.equals(got, want)) throw new AssertionError(got + ", not " + want);
    }

    static Object one(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement(); ResultSet rows = statement.executeQuery(sql)) {
            rows.next();
            return rows.getObject(1);
        }
    }

    static HikariDataSource pool() {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(URL);
        config.setUsername("braid");
        config.setPassword("unused");
        config.setMaximumPoolSize(4);
        return new HikariDataSource(config);
    }

    static void hikari(HikariDataSource pool) throws Exception {
        try (Connection connection = pool.getConnection()) {
            connection.createStatement().execute("create table h (id int primary key, n int not null)");
            connection.createStatement().execute("insert into h values (1, 0)");
        }
        ExecutorService threads = Executors.newFixedThreadPool(8);
        List<Future<?>> all = new ArrayList<>();
        for (int i = 0; i < 40; i++) {
            all.add(threads.submit(() -> {
                try (Connection connection = pool.getConnection()) {
                    connection.setAutoCommit(false);
                    one(connection, "select n from h where id = 1 for update");
                    connection.createStatement().executeUpdate("update h set n = n + 1 where id = 1");
                    connection.commit();
                }
                return null;
            }));
        }
        for (Future<?> future : all) future.get();
        threads.shutdown();
        try (Connection connection = pool.getConnection()) {
            expect(one(connection, "select n from h"), 40);
        }
        System.out.println("HikariCP: ok");
    }

    static void flyway(HikariDataSource pool, String directory) throws Exception {
        Flyway flyway = Flyway.configure().dataSource(pool).baselineOnMigrate(true).baselineVersion("0").locations("filesystem:" + directory + "/migrations").load();
        expect(flyway.migrate().migrationsExecuted, 3);
        expect(flyway.migrate().migrationsExecuted, 0);
        expect(flyway.validateWithResult().validationSuccessful, true);
        expect(flyway.info().applied().length, 4);
        try (Connection connection = pool.getConnection()) {
            expect(one(connection, "select n from f_counts"), 2L);
        }
        Flyway other = Flyway.configure().dataSource(pool).schemas("f_own").cleanDisabled(false).locations("filesystem:" + directory + "/migrations").load();
        expect(other.migrate().migrationsExecuted, 3);
        other.clean();
        try (Connection connection = pool.getConnection()) {
            expect(one(connection, "select count(*) from pg_namespace where nspname = 'f_own'"), 0L);
        }
        System.out.println("Flyway: ok");
    }

    static void liquibase(HikariDataSource pool, String directory) throws Exception {
        try (Connection connection = pool.getConnection()) {
            var database = liquibase.database.DatabaseFactory.getInstance()
                .findCorrectDatabaseImplementation(new liquibase.database.jvm.JdbcConnection(connection));
            var resources = new liquibase.resource.DirectoryResourceAccessor(Path.of(directory));
            var tool = new liquibase.Liquibase("changelog.xml", resources, database);
            tool.update("");
            expect(tool.listUnrunChangeSets(new liquibase.Contexts(), new liquibase.LabelExpression()).size(), 0);
            tool.update("");
            tool.validate();
            expect(one(connection, "select name from l_view"), "Ann");
            expect(one(connection, "select count(*) from databasechangelog"), 2L);
            // What is there, read from the catalog.
            var snapshot = liquibase.snapshot.SnapshotGeneratorFactory.getInstance()
                .createSnapshot(database.getDefaultSchema(), database, new liquibase.snapshot.SnapshotControl(database));
            var table = snapshot.get(new liquibase.structure.core.Table(null, "public", "l_authors"));
            expect(table.getColumns().size(), 7);
            expect(table.getPrimaryKey().getColumnNames(), "id");
            expect(snapshot.get(liquibase.structure.core.Index.class).stream().anyMatch(index -> index.getName().equals("l_books_title")), true);
            expect(snapshot.get(liquibase.structure.core.ForeignKey.class).stream().anyMatch(key -> key.getName().equals("fk_author")), true);
            connection.commit();
        }
        System.out.println("Liquibase: ok");
    }

    @Entity(name = "Author")
    @jakarta.persistence.Table(name = "hb_authors", indexes = @jakarta.persistence.Index(columnList = "name"))
    public static class Author {
        @Id @GeneratedValue(strategy = GenerationType.IDENTITY) Long id;
        @Column(nullable = false, unique = true, length = 80) String name;
        @Column(precision = 10, scale = 2) BigDecimal score;
        LocalDate born;
        OffsetDateTime made;
        @Enumerated(EnumType.STRING) Kind kind;
        byte[] picture;
        UUID code;
        @Version int version;
        @OneToMany(mappedBy = "author", cascade = CascadeType.ALL, orphanRemoval = true) List<Book> books = new ArrayList<>();
        @ElementCollection Set<String> tags = new HashSet<>();
    }

    public enum Kind { NEW, OLD }

    @Entity(name = "Book")
    @jakarta.persistence.Table(name = "hb_books")
    public static class Book {
        @Id @GeneratedValue(strategy = GenerationType.SEQUENCE) Long id;
        String title;
        @ManyToOne(optional = false, fetch = FetchType.LAZY) Author author;
    }

    static SessionFactory factory(String action) {
        return new Configuration().addAnnotatedClass(Author.class).addAnnotatedClass(Book.class)
            .setProperty("hibernate.connection.url", URL).setProperty("hibernate.connection.username", "braid")
            .setProperty("hibernate.connection.password", "unused").setProperty("hibernate.hbm2ddl.auto", action)
            .setProperty("hibernate.jdbc.batch_size", "20").buildSessionFactory();
    }

    static void hibernate() {
        factory("update").close();
        factory("update").close();
        try (SessionFactory factory = factory("validate")) {
            Long id = factory.fromTransaction(session -> {
                Author ann = new Author();
                ann.name = "Ann";
                ann.score = new BigDecimal("1.50");
                ann.born = LocalDate.of(1990, 2, 28);
                ann.made = OffsetDateTime.now();
                ann.kind = Kind.NEW;
                ann.picture = new byte[] {0, 1, -1};
                ann.code = UUID.randomUUID();
                ann.tags.addAll(List.of("x", "y"));
                for (int i = 0; i < 50; i++) {
                    Book book = new Book();
                    book.title = "Book " + i;
                    book.author = ann;
                    ann.books.add(book);
                }
                session.persist(ann);
                return ann.id;
            });
            factory.inTransaction(session -> {
                Author ann = session.find(Author.class, id, LockModeType.PESSIMISTIC_WRITE);
                expect(ann.score, new BigDecimal("1.50"));
                expect(ann.tags.size(), 2);
                ann.kind = Kind.OLD;
                ann.books.remove(0);
            });
            factory.inTransaction(session -> {
                expect(session.createQuery("select count(b) from Book b join b.author a where a.kind = :kind and b.title like 'Book %'", Long.class)
                    .setParameter("kind", Kind.OLD).getSingleResult(), 49L);
                expect(session.createQuery("from Book b order by b.id", Book.class).setFirstResult(10).setMaxResults(5).getResultList().size(), 5);
                session.remove(session.find(Author.class, id));
            });
            factory.inTransaction(session -> expect(session.createQuery("select count(b) from Book b", Long.class).getSingleResult(), 0L));
        }
        factory("create-drop").close();
        System.out.println("Hibernate: ok");
    }

    public static void main(String[] arguments) throws Exception {
        java.util.logging.LogManager.getLogManager().reset();
        try (HikariDataSource pool = pool()) {
            hikari(pool);
            flyway(pool, arguments[0]);
            liquibase(pool, arguments[0]);
        }
        hibernate();
    }
}
