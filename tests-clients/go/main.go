// A Go program's use of a PostgreSQL server: pgx alone and in a pool, database/sql with lib/pq, GORM's migrations and sessions.
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/lib/pq"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"
)

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func expect[T comparable](got, want T) {
	if got != want {
		panic(fmt.Sprintf("%v, not %v", got, want))
	}
}

func dsn() string {
	return fmt.Sprintf("postgres://braid@127.0.0.1:%s/braid?sslmode=disable", os.Getenv("PGPORT"))
}

func withPgx(ctx context.Context) {
	conn, err := pgx.Connect(ctx, dsn())
	must(err)
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, `create table go_items (id bigint generated always as identity primary key, name text not null,
		price numeric(10,2), tags text[], made timestamptz default now(), body jsonb, code uuid, raw bytea, day date, span interval, ok boolean, f float8)`)
	must(err)
	var id int64
	price := pgtype.Numeric{}
	must(price.Scan("12.50"))
	day := time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC)
	err = conn.QueryRow(ctx, `insert into go_items (name, price, tags, body, code, raw, day, span, ok, f) values ($1,$2,$3,$4,$5,$6,$7,$8,$9,$10) returning id`,
		"first", price, []string{"a", "b,c", `"q"`}, map[string]any{"x": 1, "y": []int{1, 2}}, "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
		[]byte{0, 1, 255}, day, 90*time.Minute, true, 1.5).Scan(&id)
	must(err)
	expect(id, 1)
	var (
		name  string
		tags  []string
		body  map[string]any
		raw   []byte
		gotOn time.Time
		span  time.Duration
		ok    bool
		f     float64
		gotP  pgtype.Numeric
		made  time.Time
		none  *string
	)
	must(conn.QueryRow(ctx, "select name, price, tags, body, raw, day, span, ok, f, made, null::text from go_items where id = $1", id).
		Scan(&name, &gotP, &tags, &body, &raw, &gotOn, &span, &ok, &f, &made, &none))
	expect(name, "first")
	expect(tags[2], `"q"`)
	expect(body["x"], any(float64(1)))
	expect(len(raw), 3)
	expect(gotOn, day)
	expect(span, 90*time.Minute)
	expect(f, 1.5)
	expect(none == nil, true)
	value, err := gotP.Value()
	must(err)
	expect(value, any("12.50"))
	// Batches and COPY, which is binary.
	batch := &pgx.Batch{}
	for i := range 50 {
		batch.Queue("insert into go_items (name, f) values ($1, $2)", fmt.Sprint("batch ", i), float64(i))
	}
	must(conn.SendBatch(ctx, batch).Close())
	rows := [][]any{}
	for i := range 1000 {
		rows = append(rows, []any{fmt.Sprint("copy ", i), float64(i), day})
	}
	copied, err := conn.CopyFrom(ctx, pgx.Identifier{"go_items"}, []string{"name", "f", "day"}, pgx.CopyFromRows(rows))
	must(err)
	expect(copied, 1000)
	found, err := conn.Query(ctx, "select name, f from go_items where name = any($1) order by id", []string{"copy 7", "batch 3"})
	must(err)
	type pair struct {
		Name string
		F    float64
	}
	pairs, err := pgx.CollectRows(found, pgx.RowToStructByPos[pair])
	must(err)
	expect(pairs[0], pair{"batch 3", 3})
	// Transactions, savepoints, errors.
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	must(err)
	inner, err := tx.Begin(ctx)
	must(err)
	_, err = inner.Exec(ctx, "insert into go_items (name) values (null)")
	var failed *pgconn.PgError
	expect(errors.As(err, &failed), true)
	expect(failed.Code, "23502")
	expect(failed.ColumnName, "name")
	must(inner.Rollback(ctx))
	_, err = tx.Exec(ctx, "delete from go_items where name like 'copy %'")
	must(err)
	must(tx.Commit(ctx))
	// A cancelled context cancels the query; LISTEN.
	short, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	_, err = conn.Exec(short, "select pg_sleep(10)")
	cancel()
	expect(err != nil, true)
	other, err := pgx.Connect(ctx, dsn())
	must(err)
	defer other.Close(ctx)
	_, err = other.Exec(ctx, "listen news")
	must(err)
	pool, err := pgxpool.New(ctx, dsn())
	must(err)
	defer pool.Close()
	_, err = pool.Exec(ctx, "select pg_notify('news', 'hello')")
	must(err)
	notice, err := other.WaitForNotification(ctx)
	must(err)
	expect(notice.Payload, "hello")
	var wait sync.WaitGroup
	for i := range 20 {
		wait.Add(1)
		go func() {
			defer wait.Done()
			var n int
			must(pool.QueryRow(ctx, "select count(*) from go_items where f >= $1::float8", float64(i)).Scan(&n))
		}()
	}
	wait.Wait()
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeSimpleProtocol, pgx.QueryExecModeExec, pgx.QueryExecModeDescribeExec, pgx.QueryExecModeCacheDescribe} {
		var n int
		must(other.QueryRow(ctx, "select $1::int + 1", mode, 41).Scan(&n))
		expect(n, 42)
	}
	fmt.Println("pgx: ok")
}

func withPq() {
	db, err := sql.Open("postgres", dsn())
	must(err)
	defer db.Close()
	_, err = db.Exec("create table go_pq (id serial primary key, name text unique, tags text[])")
	must(err)
	tx, err := db.Begin()
	must(err)
	statement, err := tx.Prepare(pq.CopyIn("go_pq", "name", "tags"))
	must(err)
	for i := range 100 {
		_, err = statement.Exec(fmt.Sprint("n", i), pq.Array([]string{"a", fmt.Sprint(i)}))
		must(err)
	}
	_, err = statement.Exec()
	must(err)
	must(statement.Close())
	must(tx.Commit())
	_, err = db.Exec("insert into go_pq (name) values ($1)", "n5")
	var failed *pq.Error
	expect(errors.As(err, &failed), true)
	expect(failed.Code.Name(), "unique_violation")
	expect(failed.Constraint, "go_pq_name_key")
	var tags []string
	must(db.QueryRow("select tags from go_pq where name = $1", "n7").Scan(pq.Array(&tags)))
	expect(strings.Join(tags, " "), "a 7")
	result, err := db.Exec("update go_pq set name = name || $1 where id <= $2", "!", 10)
	must(err)
	changed, _ := result.RowsAffected()
	expect(changed, 10)
	fmt.Println("lib/pq: ok")
}

type Author struct {
	ID        uint
	CreatedAt time.Time
	UpdatedAt time.Time
	DeletedAt gorm.DeletedAt `gorm:"index"`
	Name      string         `gorm:"size:80;not null;uniqueIndex:author_name,expression:lower(name),where:deleted_at is null"`
	Age       *int           `gorm:"check:age_positive,age > 0"`
	Books     []Book         `gorm:"constraint:OnDelete:CASCADE"`
}

type Book struct {
	ID       uint
	AuthorID uint `gorm:"index"`
	Title    string
	Price    float64 `gorm:"type:numeric(10,2);default:9.99"`
	Tags     []Tag   `gorm:"many2many:book_tags"`
}

type Tag struct {
	Name string `gorm:"primaryKey"`
}

func withGorm() {
	quiet := logger.Default.LogMode(logger.Silent)
	db, err := gorm.Open(postgres.Open(dsn()), &gorm.Config{Logger: quiet, TranslateError: true})
	must(err)
	must(db.AutoMigrate(&Author{}, &Tag{}, &Book{}))
	// A second run finds nothing to do, and a third adds a column.
	must(db.AutoMigrate(&Author{}, &Tag{}, &Book{}))
	type Extended struct {
		Author
		Country string `gorm:"type:varchar(2);default:'de';index"`
	}
	must(db.Table("authors").AutoMigrate(&Extended{}))
	expect(db.Migrator().HasColumn("authors", "country"), true)
	expect(db.Migrator().HasIndex(&Author{}, "author_name"), true)
	types, err := db.Migrator().ColumnTypes(&Author{})
	must(err)
	expect(len(types), 7)
	age := 40
	ann := Author{Name: "Ann", Age: &age, Books: []Book{{Title: "One", Tags: []Tag{{"x"}, {"y"}}}, {Title: "Two", Price: 3}}}
	must(db.Create(&ann).Error)
	expect(ann.Books[0].Price, 9.99)
	expect(errors.Is(db.Create(&Author{Name: "ANN"}).Error, gorm.ErrDuplicatedKey), true)
	wrong := -1
	expect(errors.Is(db.Create(&Author{Name: "Bob", Age: &wrong}).Error, gorm.ErrCheckConstraintViolated), true)
	var found Author
	must(db.Preload("Books.Tags").Preload(clause.Associations).Where("name ilike ?", "an%").First(&found).Error)
	expect(len(found.Books), 2)
	must(db.Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "name"}}, DoNothing: true}).Create(&[]Tag{{"x"}, {"z"}}).Error)
	must(db.Transaction(func(tx *gorm.DB) error {
		var locked Author
		must(tx.Clauses(clause.Locking{Strength: "UPDATE"}).First(&locked, ann.ID).Error)
		must(tx.Model(&locked).Updates(map[string]any{"age": gorm.Expr("age + ?", 1)}).Error)
		return tx.Transaction(func(*gorm.DB) error { return nil })
	}))
	var returned []Book
	must(db.Model(&returned).Clauses(clause.Returning{}).Where("author_id = ?", ann.ID).Update("price", 5).Error)
	expect(len(returned), 2)
	must(db.Delete(&ann).Error)
	must(db.Create(&Author{Name: "ann"}).Error)
	var count int64
	must(db.Unscoped().Model(&Author{}).Where("lower(name) = ?", "ann").Count(&count).Error)
	expect(count, 2)
	must(db.Exec("delete from book_tags").Error)
	must(db.Unscoped().Delete(&Author{}, ann.ID).Error)
	must(db.Model(&Book{}).Count(&count).Error)
	expect(count, 0)
	fmt.Println("gorm: ok")
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	withPgx(ctx)
	withPq()
	withGorm()
}
