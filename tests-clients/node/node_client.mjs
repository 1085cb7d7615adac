// Node programs' use of a PostgreSQL server: pg with a pool, cursors and COPY, postgres.js, Knex's migrations, Sequelize, TypeORM and Drizzle.
import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createRequire } from "node:module";
const require = createRequire(import.meta.url);
const pg = require("pg");
const Cursor = require("pg-cursor");
const copy = require("pg-copy-streams");
const { Sequelize, DataTypes, Op } = require("sequelize");
const { DataSource, EntitySchema } = require("typeorm");
const knexOf = require("knex");
const postgres = (await import("postgres")).default;

const port = Number(process.env.PGPORT);
const config = { host: "127.0.0.1", port, user: "braid", database: "braid", password: "unused" };

async function withPg() {
    const pool = new pg.Pool({ ...config, max: 5 });
    await pool.query(`create table js_items (id serial primary key, name text not null, price numeric(10,2), tags text[], body jsonb,
        made timestamptz default now(), day date, raw bytea, ok boolean)`);
    const made = await pool.query(
        "insert into js_items (name, price, tags, body, day, raw, ok) values ($1, $2, $3, $4, $5, $6, $7) returning *",
        ["first", "12.50", ["a", 'b "q"', "c,d"], { x: [1, 2] }, "2024-02-29", Buffer.from([0, 255]), true]);
    const row = made.rows[0];
    assert.equal(row.price, "12.50");
    assert.deepEqual(row.tags, ["a", 'b "q"', "c,d"]);
    assert.deepEqual(row.body, { x: [1, 2] });
    assert.ok(row.made instanceof Date && row.raw.equals(Buffer.from([0, 255])));
    assert.equal(made.fields[2].dataTypeID, 1700);
    const client = await pool.connect();
    await pipeline(Readable.from(Array.from({ length: 500 }, (_, i) => `copy ${i}\t${i}.25\n`)),
        client.query(copy.from("copy js_items (name, price) from stdin")));
    let copied = 0;
    for await (const chunk of client.query(copy.to("copy js_items to stdout with (format csv)"))) copied += chunk.toString().split("\n").length - 1;
    assert.equal(copied, 501);
    const cursor = client.query(new Cursor("select id from js_items where id > $1 order by id", [1]));
    assert.equal((await cursor.read(100)).length, 100);
    assert.equal((await cursor.read(1000)).length, 400);
    await cursor.close();
    await client.query("begin");
    await assert.rejects(client.query("insert into js_items (name) values (null)"), { code: "23502", column: "name", table: "js_items" });
    await assert.rejects(client.query("select 1"), { code: "25P02" });
    await client.query("rollback");
    const named = { name: "by-id", text: "select name from js_items where id = $1", values: [1] };
    for (let i = 0; i < 3; i++) assert.equal((await client.query(named)).rows[0].name, "first");
    const heard = new Promise((resolve) => client.on("notification", resolve));
    await client.query("listen js_news");
    await pool.query("select pg_notify('js_news', 'hello')");
    assert.equal((await heard).payload, "hello");
    client.release();
    const counts = await Promise.all(Array.from({ length: 30 }, (_, i) => pool.query("select count(*)::int as n from js_items where id > $1", [i])));
    assert.equal(counts[29].rows[0].n, 472);
    await pool.end();
    console.log("pg: ok");
}

async function withPostgresJs() {
    const sql = postgres({ ...config, max: 4, onnotice: () => {} });
    await sql`create table pjs (id int primary key, name text, body jsonb, tags int[])`;
    await sql`insert into pjs ${sql([{ id: 1, name: "a", body: { x: 1 }, tags: [1, 2] }, { id: 2, name: "b", body: null, tags: null }])}`;
    assert.deepEqual((await sql`select * from pjs where id in ${sql([1, 2])} order by id`)[0].tags, [1, 2]);
    await sql`update pjs set ${sql({ name: "c" }, "name")} where id = ${2}`;
    await sql.begin(async (tx) => {
        await tx`insert into pjs (id) values (3)`;
        await tx.savepoint(async (inner) => inner`insert into pjs (id) values (3)`).catch((error) => assert.equal(error.code, "23505"));
    });
    let read = 0;
    await sql`select * from generate_series(1, 1000) g`.cursor(100, (rows) => { read += rows.length; });
    assert.equal(read, 1000);
    assert.equal((await sql`select count(*)::int as n from pjs`)[0].n, 3);
    await sql.end();
    console.log("postgres.js: ok");
}

async function withKnex() {
    const knex = knexOf({ client: "pg", connection: config, pool: { min: 0, max: 3 } });
    const migrations = {
        getMigrations: async () => ["1_tables", "2_more"],
        getMigrationName: (name) => name,
        getMigration: async (name) => ({
            "1_tables": {
                up: (k) => k.schema
                    .createTable("k_users", (t) => {
                        t.increments();
                        t.string("email").notNullable().unique();
                        t.enu("kind", ["admin", "user"]).defaultTo("user");
                        t.jsonb("settings");
                        t.timestamps(true, true);
                    })
                    .createTable("k_posts", (t) => {
                        t.bigIncrements("id");
                        t.integer("user_id").references("id").inTable("k_users").onDelete("cascade").index();
                        t.decimal("score", 8, 2);
                        t.uuid("code").defaultTo(k.raw("gen_random_uuid()"));
                    }),
                down: (k) => k.schema.dropTable("k_posts").dropTable("k_users"),
            },
            "2_more": {
                up: (k) => k.schema.alterTable("k_users", (t) => {
                    t.renameColumn("settings", "options");
                    t.text("bio");
                    t.string("email", 100).notNullable().alter();
                    t.index(["kind", "email"], "k_by_kind");
                }),
                down: (k) => k.schema.alterTable("k_users", (t) => { t.dropIndex([], "k_by_kind"); t.dropColumn("bio"); }),
            },
        })[name],
    };
    assert.deepEqual((await knex.migrate.latest({ migrationSource: migrations }))[1], ["1_tables", "2_more"]);
    const [user] = await knex("k_users").insert({ email: "a@x", options: { dark: true } }).returning("*");
    assert.deepEqual([user.kind, user.options], ["user", { dark: true }]);
    await knex("k_users").insert({ email: "a@x" }).onConflict("email").merge({ bio: "again" });
    await knex.transaction(async (trx) => {
        await trx("k_posts").insert([{ user_id: user.id, score: 1.5 }, { user_id: user.id, score: 2.5 }]);
        assert.equal((await trx("k_users").where({ id: user.id }).forUpdate().first()).bio, "again");
    });
    const joined = await knex("k_users as u").join("k_posts as p", "p.user_id", "u.id").groupBy("u.id").select("u.email").sum("p.score as total");
    assert.deepEqual(joined, [{ email: "a@x", total: "4.00" }]);
    assert.ok(await knex.schema.hasColumn("k_users", "bio"));
    assert.equal((await knex("k_users").columnInfo()).email.maxLength, 100);
    await knex.migrate.rollback({ migrationSource: migrations }, true);
    assert.equal(await knex.schema.hasTable("k_users"), false);
    await knex.destroy();
    console.log("knex: ok");
}

async function withSequelize() {
    const sequelize = new Sequelize("braid", "braid", "unused", { host: "127.0.0.1", port, dialect: "postgres", logging: false });
    const User = sequelize.define("SqUser", {
        name: { type: DataTypes.STRING(60), allowNull: false, unique: true },
        role: { type: DataTypes.ENUM("admin", "user"), defaultValue: "user" },
        tags: DataTypes.ARRAY(DataTypes.STRING), options: DataTypes.JSONB, born: DataTypes.DATEONLY, score: DataTypes.DECIMAL(8, 2),
        key: { type: DataTypes.UUID, defaultValue: DataTypes.UUIDV4 },
    }, { indexes: [{ fields: ["role"] }, { unique: true, fields: ["score"], where: { role: "admin" } }], paranoid: true });
    const Post = sequelize.define("SqPost", { title: DataTypes.TEXT });
    User.hasMany(Post, { onDelete: "CASCADE" });
    Post.belongsTo(User);
    await sequelize.sync();
    await sequelize.sync({ alter: true });
    const ann = await User.create({ name: "Ann", role: "admin", score: 1, tags: ["x"], options: { a: { b: 1 } }, born: "1990-01-02", SqPosts: [{ title: "t" }] }, { include: Post });
    await assert.rejects(User.create({ name: "Bob", role: "admin", score: 1 }), { name: "SequelizeUniqueConstraintError" });
    await User.bulkCreate([{ name: "Cyd" }, { name: "Ann", score: 7 }], { updateOnDuplicate: ["score"], conflictFields: ["name"] }).catch((error) => { throw error; });
    const found = await User.findAll({ where: { options: { a: { b: 1 } }, tags: { [Op.contains]: ["x"] } }, include: Post });
    assert.deepEqual([found.length, found[0].SqPosts.length, found[0].score], [1, 1, "7.00"]);
    await sequelize.transaction(async (transaction) => {
        const locked = await User.findOne({ where: { name: "Ann" }, lock: true, transaction });
        await locked.increment("score", { by: 2, transaction });
    });
    const [upserted] = await User.upsert({ name: "Dan", score: 3 });
    assert.equal(upserted.name, "Dan");
    await ann.destroy();
    assert.equal(await User.count(), 2);
    const described = await sequelize.getQueryInterface().describeTable("SqUsers");
    assert.deepEqual([described.role.special, described.id.primaryKey], [["admin", "user"], true]);
    await sequelize.getQueryInterface().addColumn("SqUsers", "extra", { type: DataTypes.INTEGER, defaultValue: 5 });
    await sequelize.getQueryInterface().removeColumn("SqUsers", "extra");
    await sequelize.drop({});
    await sequelize.close();
    console.log("sequelize: ok");
}

async function withTypeOrm() {
    const User = new EntitySchema({
        name: "ToUser", columns: {
            id: { type: Number, primary: true, generated: true }, email: { type: String, unique: true, length: 80 },
            role: { type: "enum", enum: ["admin", "user"], default: "user" }, options: { type: "jsonb", nullable: true },
            tags: { type: "text", array: true, nullable: true }, made: { type: "timestamptz", createDate: true }, version: { type: Number, version: true },
        },
        relations: { posts: { type: "one-to-many", target: "ToPost", inverseSide: "user", cascade: true } },
    });
    const Post = new EntitySchema({
        name: "ToPost", columns: { id: { type: "uuid", primary: true, generated: "uuid" }, title: { type: "text" }, score: { type: "numeric", precision: 8, scale: 2, default: 0 } },
        relations: { user: { type: "many-to-one", target: "ToUser", inverseSide: "posts", onDelete: "CASCADE" } },
        indices: [{ columns: ["title"], where: "score > 0" }],
    });
    const options = { type: "postgres", host: "127.0.0.1", port, username: "braid", password: "unused", database: "braid", installExtensions: false, uuidExtension: "pgcrypto" };
    let source = new DataSource({ ...options, entities: [User, Post], synchronize: true });
    await source.initialize();
    // A second start compares the schema with what is there, and finds no difference.
    assert.deepEqual((await source.driver.createSchemaBuilder().log()).upQueries.map((query) => query.query), []);
    const users = source.getRepository("ToUser");
    await users.save({ email: "a@x", options: { a: 1 }, tags: ["x", "y"], posts: [{ title: "t", score: 1.25 }] });
    const found = await users.findOne({ where: { email: "a@x" }, relations: { posts: true } });
    assert.deepEqual([found.posts[0].score, found.tags, found.version, found.role], ["1.25", ["x", "y"], 1, "user"]);
    await assert.rejects(users.insert({ email: "a@x" }), { code: "23505" });
    await users.upsert([{ email: "a@x", role: "admin" }], ["email"]);
    await source.transaction(async (manager) => {
        const locked = await manager.findOne("ToUser", { where: { id: found.id }, lock: { mode: "pessimistic_write" } });
        assert.equal(locked.role, "admin");
        await manager.increment("ToUser", { id: found.id }, "version", 1);
    });
    const counted = await source.createQueryBuilder("ToPost", "p").innerJoin("p.user", "u").select("u.email", "email").addSelect("sum(p.score)", "total").groupBy("u.email").getRawMany();
    assert.deepEqual(counted, [{ email: "a@x", total: "1.25" }]);
    await users.delete(found.id);
    assert.equal(await source.getRepository("ToPost").count(), 0);
    await source.dropDatabase();
    await source.destroy();
    console.log("typeorm: ok");
}

await withPg();
await withPostgresJs();
await withKnex();
await withSequelize();
await withTypeOrm();
