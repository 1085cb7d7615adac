// Drizzle against a PostgreSQL server: drizzle-kit's generate, migrate, push and pull, the migrators of its ORM, and the ORM's queries through
// node-postgres and through postgres.js.
//
// PGPORT is the server's port. Every answer is compared with answers/drizzle.json, which RECORD=1 writes (against PostgreSQL). WIDE=1 adds
// types and kinds of index which a server may lack, and the texts of expressions; it needs answers of its own, recorded before.
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import {
    and, arrayContained, arrayContains, arrayOverlaps, asc, avg, avgDistinct, between, count, countDistinct, desc, eq, exists, getTableColumns, gt, gte, ilike,
    inArray, isNotNull, isNull, like, lt, lte, max, min, ne, not, notExists, notIlike, notInArray, or, relations, sql, sum, sumDistinct,
} from "drizzle-orm";
import { drizzle as nodePostgres } from "drizzle-orm/node-postgres";
import { migrate as migrateNodePostgres } from "drizzle-orm/node-postgres/migrator";
import { alias, except, exceptAll, intersect, intersectAll, union, unionAll } from "drizzle-orm/pg-core";
import { drizzle as postgresJs } from "drizzle-orm/postgres-js";
import { migrate as migratePostgresJs } from "drizzle-orm/postgres-js/migrator";
import pg from "pg";
import postgres from "postgres";
import { answersOf } from "./answers.mjs";
import * as schema from "./drizzle/first.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const work = join(here, "drizzle_work");
const wide = process.env.WIDE === "1";
const connection = { host: "127.0.0.1", port: Number(process.env.PGPORT), user: "braid", database: "braid", password: "unused" };
const { answer, attempt: attemptAny, finish } = answersOf(here, wide ? "drizzle_wide" : "drizzle");

// Drizzle wraps the driver's error: what the server said is its cause. A syntax error's detail is each server's own.
const described = (error) => {
    const said = error.cause ?? error;
    return { code: said.code, message: said.message, detail: said.code === "42601" ? undefined : said.detail, constraint: said.constraint ?? said.constraint_name, table: said.table ?? said.table_name, column: said.column ?? said.column_name };
};
const attempt = (about, run) => attemptAny(about, run, described);

// Runs drizzle-kit; what it prints is stripped of its spinners.
function kit(state, out, ...args) {
    const cli = join(dirname(createRequire(import.meta.url).resolve("drizzle-kit")), "bin.cjs");
    const done = spawnSync(process.execPath, [cli, ...args, "--config", "drizzle/drizzle.config.mjs"], {
        cwd: here, encoding: "utf8", env: { ...process.env, DRIZZLE_SCHEMA: `drizzle/${state}.mjs`, DRIZZLE_OUT: `drizzle_work/${out}`, NO_COLOR: "1", CI: "1" },
    });
    const text = (done.stdout + done.stderr).replace(/\x1b\[[0-9;?]*[A-Za-z]/g, "").replaceAll(here, "").replace(/\[.\] [^\n]*(fetching|Pulling)[^\n]*/g, "");
    const lines = text.split("\n").map((line) => line.trimEnd()).filter((line) => line && !/^(Reading config file|No config path|Using '\w+' driver|\[.\]|\s+at |  (length|file|line|routine|position|where|internal\w+): )/.test(line));
    return { status: done.status, lines: sorted([...new Set(lines)], true) };
}
// Neither drizzle-kit nor the catalogs it reads promise an order of the tables: lines, and the words of an import, are sorted.
// Without WIDE=1 the lines with an expression are left out: the catalogs give it back as each server writes it.
const expression = /sql`|CHECK|VIEW|View|GENERATED ALWAYS AS \(|WHERE|lower\(/;
const sorted = (lines, all = wide) => lines.filter((line) => all || !expression.test(line)).map((line) => line.startsWith("import {") ? line.split(/[ ,{}]+/).sort().join(" ") : line).sort();
const read = (...path) => sorted(readFileSync(join(work, ...path), "utf8").split("\n"), wide || path[0] === "migrations");

async function emptied() {
    const client = new pg.Client(connection);
    await client.connect();
    await client.query("drop schema if exists drizzle cascade; drop schema if exists shop cascade");
    for (const [kind, names] of [["materialized view", "select matviewname as n from pg_matviews where schemaname = 'public'"], ["view", "select viewname as n from pg_views where schemaname = 'public'"],
        ["table", "select tablename as n from pg_tables where schemaname = 'public'"], ["sequence", "select sequencename as n from pg_sequences where schemaname = 'public'"],
        ["type", "select typname as n from pg_type where typtype = 'e' and typnamespace = 'public'::regnamespace"]]) {
        for (const { n } of (await client.query(names)).rows) await client.query(`drop ${kind} if exists public."${n}" cascade`);
    }
    await client.end();
}

async function tools() {
    rmSync(work, { recursive: true, force: true });
    mkdirSync(work);
    const run = (about, ...args) => {
        const done = kit(...args);
        answer(about, done);
        return done;
    };
    run("generate, first", "first", "migrations", "generate", "--name", "first");
    answer("first migration", read("migrations", "0000_first.sql"));
    run("migrate, first", "first", "migrations", "migrate");
    run("migrate, nothing new", "first", "migrations", "migrate");
    run("push after migrate: no difference", "first", "migrations", "push", "--force");
    run("pull, first", "first", "pulled", "pull");
    answer("pulled, first", read("pulled", "schema.ts"));
    answer("pulled relations, first", read("pulled", "relations.ts"));
    answer("pulled migration, first", read("pulled", readdirSync(join(work, "pulled")).find((name) => name.endsWith(".sql"))));
    run("generate, second", "second", "migrations", "generate", "--name", "second");
    answer("second migration", read("migrations", "0001_second.sql"));
    run("check", "second", "migrations", "check");
    run("migrate, second", "second", "migrations", "migrate");
    run("push after the second: no difference", "second", "migrations", "push", "--force");
    run("pull, second", "second", "pulled2", "pull");
    answer("pulled, second", read("pulled2", "schema.ts"));
    run("export", "second", "migrations", "export");
    // Pushing alone: from nothing, and from one state to the other.
    await emptied();
    run("push, first", "first", "migrations", "push", "--force");
    run("push, first again", "first", "migrations", "push", "--force");
    run("push, second", "second", "migrations", "push", "--force");
    run("push, second again", "second", "migrations", "push", "--force");
    run("push, back to the first", "first", "migrations", "push", "--force");
    await emptied();
}

const { users, groups, members, posts, invitations, items, types, adults, totals, dear } = schema;
const usersRelations = relations(users, ({ one, many }) => ({
    manager: one(users, { fields: [users.managerId], references: [users.id], relationName: "manages" }), reports: many(users, { relationName: "manages" }),
    posts: many(posts), members: many(members),
}));
const postsRelations = relations(posts, ({ one }) => ({ author: one(users, { fields: [posts.authorId], references: [users.id] }) }));
const membersRelations = relations(members, ({ one, many }) => ({
    user: one(users, { fields: [members.userId], references: [users.id] }), group: one(groups, { fields: [members.groupId], references: [groups.id] }), invitations: many(invitations),
}));
const groupsRelations = relations(groups, ({ many }) => ({ members: many(members) }));
const invitationsRelations = relations(invitations, ({ one }) => ({ member: one(members, { fields: [invitations.userId, invitations.groupId], references: [members.userId, members.groupId] }) }));
const full = { ...schema, usersRelations, postsRelations, membersRelations, groupsRelations, invitationsRelations };
const logger = process.env.SHOW_SQL ? { logQuery: (text, values) => console.error(text, values) } : false;

async function queries(driver, open, close, migrate) {
    const db = open();
    const ask = (about, run) => attempt(`${driver}: ${about}`, run);
    const rowsOf = (result) => result.rows ?? [...result];
    const byId = (rows) => rows.sort((a, b) => a.id - b.id);
    const fixed = new Date("2024-02-29T12:34:56.789Z");
    await ask("migrate", () => migrate(db, { migrationsFolder: join(work, "orm"), migrationsSchema: "drizzle", migrationsTable: "applied" }));
    await ask("migrate again", () => migrate(db, { migrationsFolder: join(work, "orm"), migrationsSchema: "drizzle", migrationsTable: "applied" }));
    await ask("applied", async () => rowsOf(await db.execute(sql`select count(*)::int as n from drizzle.applied`)));

    // Inserting.
    await ask("insert", () => db.insert(users).values({ email: "ann@x", name: "Ann", role: "admin", tags: ["x", 'q"', "a,b", "{}", "null", ""], options: { a: { b: [1, null, "t"] } }, score: "12.345", madeAt: fixed, ...(wide ? { roles: ["admin", "guest list"] } : {}) }).returning());
    await ask("insert many", () => db.insert(users).values([{ email: "bob@x", name: "Bob", managerId: 1, madeAt: fixed }, { email: "cyd@x", managerId: 1, score: "3", madeAt: fixed, role: "guest list" }, { email: "dan@x", name: "Dan", managerId: 2, active: false, madeAt: new Date(+fixed + 86400000), tags: [] }]).returning({ id: users.id, label: users.label, tags: users.tags, options: users.options }));
    await ask("insert groups", () => db.insert(groups).values([{ name: "one", region: "eu" }, { name: "two", region: "us" }, { name: "three" }]).returning());
    await ask("nulls not distinct", () => db.insert(groups).values({ name: "three" }));
    await ask("insert members", () => db.insert(members).values([{ userId: 1, groupId: 1 }, { userId: 1, groupId: 2, since: "2024-02-29" }, { userId: 2, groupId: 1 }]).returning());
    await ask("insert posts", () => db.insert(posts).values([{ authorId: 1, title: "first", body: "hello", views: 10n }, { authorId: 1, title: "second", kind: "rich" }, { authorId: 2, title: "third", views: 9007199254740993n }]).returning());
    await ask("insert from a select", () => db.insert(posts).select(db.select({ id: sql`${posts.id} + 100`.as("id"), authorId: posts.authorId, title: sql`${posts.title} || ' copy'`.as("title"), body: posts.body, views: sql`5::bigint`.as("views"), kind: posts.kind }).from(posts).where(eq(posts.authorId, 1))).returning({ id: posts.id, title: posts.title }));
    await ask("insert defaults", () => db.insert(items).values({ name: "pen", price: "1.50" }).returning());
    await ask("identity by default, given", () => db.insert(items).values([{ id: 7, name: "cap", price: "20" }, { name: "hat", price: "30.25", stock: 3 }]).returning());
    await ask("identity always, overriding", () => db.insert(users).overridingSystemValue().values({ id: 500, email: "sys@x", madeAt: fixed }).returning({ id: users.id }));
    await ask("identity always, refused", async () => rowsOf(await db.execute(sql`insert into users (id, email) values (501, 'no@x')`)));

    // Upserts.
    await ask("do nothing", () => db.insert(users).values({ email: "ann@x" }).onConflictDoNothing().returning());
    await ask("do nothing on a target", () => db.insert(posts).values({ authorId: 1, title: "first" }).onConflictDoNothing({ target: [posts.authorId, posts.title] }).returning());
    await ask("do update", () => db.insert(users).values({ email: "ann@x", name: "Anna", madeAt: fixed }).onConflictDoUpdate({ target: users.email, set: { name: sql`excluded.name`, score: sql`${users.score} + 1` } }).returning({ id: users.id, name: users.name, score: users.score, changedAt: users.changedAt }));
    await ask("do update where", () => db.insert(users).values([{ email: "ann@x", name: "Z" }, { email: "bob@x", name: "Z" }]).onConflictDoUpdate({ target: users.email, set: { name: sql`excluded.name` }, setWhere: sql`${users.id} = 2` }).returning({ id: users.id, name: users.name }));
    await ask("do update by two", () => db.insert(members).values({ userId: 1, groupId: 1, since: "2025-01-01" }).onConflictDoUpdate({ target: [members.userId, members.groupId], set: { since: sql`excluded.since` } }).returning());

    // Selecting.
    const who = (where) => db.select({ email: users.email }).from(users).where(where).orderBy(users.id);
    const wheres = {
        eq: eq(users.email, "ann@x"), ne: ne(users.email, "ann@x"), gt: gt(users.score, "3"), gte: gte(users.score, "3"), lt: lt(users.id, 3), lte: lte(users.madeAt, fixed), isNull: isNull(users.managerId), isNotNull: isNotNull(users.managerId), inArray: inArray(users.id, [1, 2, 99]), notInArray: notInArray(users.role, ["user"]), emptyIn: inArray(users.id, []), between: between(users.id, 2, 3),
        like: like(users.email, "%n@%"), ilike: ilike(users.email, "B%"), notIlike: notIlike(users.email, "B%"), not: not(eq(users.id, 1)), or: or(eq(users.id, 1), and(eq(users.active, false), isNotNull(users.name))), contains: arrayContains(users.tags, ["x"]), contained: arrayContained(users.tags, ["a", "b", "c"]), overlaps: arrayOverlaps(users.tags, ["x", "b"]),
        exists: exists(db.select({ one: sql`1` }).from(posts).where(eq(posts.authorId, users.id))), notExists: notExists(db.select({ one: sql`1` }).from(posts).where(eq(posts.authorId, users.id))), inSelect: inArray(users.id, db.select({ id: members.userId }).from(members)), jsonText: sql`${users.options} ->> 'theme' = 'dark'`, jsonPath: sql`${users.options} #>> '{a,b,2}' = 't'`, jsonContains: sql`${users.options} @> ${JSON.stringify({ a: { b: [1] } })}::jsonb`, any: sql`'x' = any(${users.tags})`, enum: eq(users.role, "guest list"),
    };
    for (const [name, where] of Object.entries(wheres)) await ask(`where ${name}`, () => who(where));
    await ask("select all", () => db.select().from(users).orderBy(users.id));
    await ask("left join", () => db.select().from(users).leftJoin(posts, eq(posts.authorId, users.id)).where(lt(users.id, 4)).orderBy(users.id, posts.id));
    await ask("inner join", () => db.select({ user: users.email, group: { id: groups.id, name: groups.name } }).from(users).innerJoin(members, eq(members.userId, users.id)).innerJoin(groups, eq(groups.id, members.groupId)).orderBy(asc(users.email), desc(groups.name)));
    await ask("right join", () => db.select({ user: users.email, group: groups.name }).from(members).rightJoin(groups, eq(groups.id, members.groupId)).leftJoin(users, eq(users.id, members.userId)).orderBy(groups.id, users.id));
    await ask("full join", () => db.select({ member: members.since, group: groups.name }).from(members).fullJoin(groups, eq(groups.id, members.groupId)).orderBy(groups.id, members.since));
    await ask("cross join", () => db.select({ a: groups.id, b: users.id }).from(groups).crossJoin(users).orderBy(groups.id, users.id).limit(4));
    const boss = alias(users, "boss");
    await ask("self join", () => db.select({ user: users.email, boss: boss.email }).from(users).leftJoin(boss, eq(users.managerId, boss.id)).orderBy(sql`${boss.email} desc nulls last`, users.id));
    const last = db.select({ title: posts.title, views: posts.views }).from(posts).where(eq(posts.authorId, users.id)).orderBy(desc(posts.views)).limit(1).as("last");
    await ask("lateral join", () => db.select({ email: users.email, title: last.title }).from(users).leftJoinLateral(last, sql`true`).orderBy(users.id));
    await ask("distinct", () => db.selectDistinct({ role: users.role }).from(users).orderBy(users.role));
    await ask("distinct on", () => db.selectDistinctOn([users.managerId], { manager: users.managerId, email: users.email }).from(users).orderBy(users.managerId, desc(users.email)));
    await ask("group by", () => db.select({ role: users.role, n: count(), names: count(users.name), sum: sum(users.score), avg: avg(users.score), min: min(users.email), max: max(users.madeAt), d: countDistinct(users.managerId), sd: sumDistinct(users.id), ad: avgDistinct(users.id) }).from(users).groupBy(users.role).having(gt(count(), 0)).orderBy(users.role));
    await ask("grouping sets", async () => rowsOf(await db.execute(sql`select role, active, count(*)::int as n from ${users} group by rollup (role, active) order by role nulls last, active nulls last`)));
    const perAuthor = db.select({ authorId: posts.authorId, n: count().as("n") }).from(posts).groupBy(posts.authorId).as("per_author");
    await ask("subquery", () => db.select({ email: users.email, n: perAuthor.n }).from(users).innerJoin(perAuthor, eq(perAuthor.authorId, users.id)).orderBy(users.id));
    const busy = db.$with("busy").as(db.select({ id: posts.authorId, n: sql`count(*)::int`.as("n") }).from(posts).groupBy(posts.authorId));
    await ask("with", () => db.with(busy).select().from(busy).where(gt(busy.n, 1)).orderBy(busy.id));
    const made = db.$with("made").as(db.insert(groups).values({ name: "cte", region: "xx" }).returning({ id: groups.id, name: groups.name }));
    await ask("with an insert", () => db.with(made).select().from(made));
    const gone = db.$with("gone").as(db.delete(groups).where(eq(groups.name, "cte")).returning());
    await ask("with a delete", () => db.with(gone).select({ name: gone.name }).from(gone));
    await ask("with and update", () => db.with(busy).update(users).set({ name: "Busy" }).where(inArray(users.id, db.select({ id: busy.id }).from(busy).where(gt(busy.n, 3)))).returning({ id: users.id }));
    await ask("with recursive", async () => rowsOf(await db.execute(sql`with recursive chain as (select id, email::text as path from users where id = 1 union all select u.id, c.path || '>' || u.email from users u join chain c on u.manager_id = c.id) select * from chain order by path`)));
    for (const [name, set] of Object.entries({ union, unionAll, intersect, intersectAll, except, exceptAll })) {
        await ask(name, () => set(db.select({ id: users.id }).from(users).where(lt(users.id, 4)), db.select({ id: groups.id }).from(groups).where(gt(groups.id, 1))).orderBy(sql`id`).limit(10));
    }
    await ask("window", () => db.select({ id: posts.id, rank: sql`rank() over (partition by ${posts.authorId} order by ${posts.views} desc)::int`, total: sql`sum(${posts.views}) over ()::text` }).from(posts).orderBy(posts.id));
    await ask("case", () => db.select({ size: sql`case when ${posts.views} > 9 then 'big' else 'small' end`.as("size"), n: sql`count(*)`.mapWith(Number) }).from(posts).groupBy(sql`size`).orderBy(sql`size`));
    await ask("page", () => db.select({ id: posts.id }).from(posts).orderBy(desc(posts.id)).limit(2).offset(1));
    await ask("$count", () => db.$count(posts, gt(posts.views, 5n)));
    await ask("$count inside", () => db.select({ email: users.email, posts: db.$count(posts, eq(posts.authorId, users.id)) }).from(users).orderBy(users.id));
    await ask("for update", () => db.transaction((tx) => tx.select({ id: users.id }).from(users).where(eq(users.id, 1)).for("update", { of: users, skipLocked: true })));
    await ask("for share", () => db.transaction((tx) => tx.select({ id: users.id }).from(users).where(eq(users.id, 1)).for("no key update", { noWait: true })));
    await ask("$dynamic", () => db.select().from(groups).$dynamic().where(eq(groups.id, 1)).limit(1));
    await ask("columns left out", () => { const { madeAt, options, ...rest } = getTableColumns(users); return db.select(rest).from(users).where(eq(users.id, 2)); });
    await ask("prepared", async () => {
        const prepared = db.select({ email: users.email }).from(users).where(and(eq(users.id, sql.placeholder("id")), ne(users.role, sql.placeholder("role")))).limit(sql.placeholder("limit")).prepare("by_id");
        return [await prepared.execute({ id: 1, role: "user", limit: 1 }), await prepared.execute({ id: 2, role: "admin", limit: 5 })];
    });

    // Relations.
    await ask("find many", () => db.query.users.findMany({ with: { manager: true, reports: { columns: { email: true }, orderBy: [asc(users.id)] }, posts: { where: gt(posts.views, 1n), orderBy: [desc(posts.views)], limit: 2, columns: { body: false } }, members: { with: { group: true }, orderBy: [asc(members.groupId)] } }, orderBy: [asc(users.id)], limit: 3 }));
    await ask("find first", () => db.query.posts.findFirst({ where: (p, { eq }) => eq(p.title, "first"), with: { author: { columns: { email: true, score: true, madeAt: true }, extras: { upper: sql`upper(${users.email})`.as("upper") } } } }));
    await ask("find nothing", () => db.query.posts.findFirst({ where: eq(posts.id, -1), with: { author: true } }));
    await ask("find deep", () => db.query.groups.findMany({ with: { members: { with: { user: { with: { posts: { columns: { title: true }, orderBy: [asc(posts.id)] } }, columns: { email: true } } }, orderBy: [asc(members.userId)] } }, orderBy: [asc(groups.id)], offset: 0 }));
    await ask("invite", () => db.insert(invitations).values({ id: "11111111-1111-4111-8111-111111111111", userId: 1, groupId: 2 }).returning());
    await ask("find by two", () => db.query.invitations.findMany({ with: { member: { with: { user: { columns: { email: true } } } } } }));
    await ask("find extras", () => db.query.users.findMany({ columns: { id: true }, extras: (u, { sql }) => ({ n: sql`(select count(*)::int from posts p where p.author_id = ${u.id})`.as("n") }), where: (u, { inArray }) => inArray(u.id, [1, 2]), orderBy: (u, { desc }) => desc(u.id) }));

    // Changing.
    await ask("update", () => db.update(users).set({ name: "Bobby", tags: sql`array_append(${users.tags}, 'z')`, options: { b: 2 }, score: sql`${users.score} * 2` }).where(eq(users.email, "bob@x")).returning({ name: users.name, tags: users.tags, options: users.options, score: users.score, changedAt: users.changedAt }));
    await ask("update from", () => db.update(posts).set({ body: sql`${users.name} || ' wrote'` }).from(users).where(and(eq(posts.authorId, users.id), eq(users.id, 1))).returning({ id: posts.id, body: posts.body, email: users.email }).then(byId));
    await ask("update to null", () => db.update(users).set({ options: null, name: null }).where(eq(users.id, 3)).returning({ options: users.options, name: users.name }));
    await ask("update json", () => db.update(users).set({ options: sql`jsonb_set(coalesce(${users.options}, '{}'), '{x}', '[1]'::jsonb)` }).where(eq(users.id, 3)).returning({ options: users.options }));
    await ask("delete", () => db.delete(posts).where(gt(posts.id, 100)).returning({ id: posts.id }).then(byId));
    await ask("delete by a subquery", () => db.delete(invitations).where(inArray(invitations.userId, db.select({ id: users.id }).from(users).where(eq(users.email, "nobody")))).returning());
    await ask("set null by two", async () => [await db.delete(members).where(and(eq(members.userId, 1), eq(members.groupId, 2))).returning(), await db.select().from(invitations)]);

    // Transactions.
    await ask("transaction", () => db.transaction(async (tx) => {
        await tx.insert(groups).values({ name: "tx", region: "aa" });
        await tx.transaction(async (inner) => { await inner.insert(groups).values({ name: "inner", region: "aa" }); throw new Error("undone"); }).catch((error) => error.message);
        return tx.select({ name: groups.name }).from(groups).where(eq(groups.region, "aa"));
    }, { isolationLevel: "serializable", accessMode: "read write", deferrable: true }));
    await ask("rolled back", () => db.transaction(async (tx) => { await tx.delete(posts); tx.rollback(); }).catch((error) => error.constructor.name));
    await ask("read only", () => db.transaction((tx) => tx.insert(groups).values({ name: "ro" }), { accessMode: "read only" }));
    await ask("after the transactions", async () => [await db.$count(groups), await db.$count(posts)]);

    // Views, sequences, schemas.
    await ask("view", () => db.select().from(adults).orderBy(adults.id));
    await ask("view in a schema", () => db.select().from(dear).orderBy(dear.id));
    await ask("materialized view", async () => [await db.select().from(totals).orderBy(totals.authorId), await db.refreshMaterializedView(totals).then(() => null), await db.select().from(totals).orderBy(totals.authorId)]);
    await ask("refreshed with no data", async () => [await db.refreshMaterializedView(totals).withNoData().then(() => null), await db.select().from(totals)]);
    await ask("sequence", async () => rowsOf(await db.execute(sql`select nextval('ticket')::int as a, nextval('ticket')::int as b`)));

    // Every type.
    const all = {
        small: -3, big: 9007199254740993n, real: 1.5, double: 1e-7, dec: "12345678901234.123456", free: "1.10", bool: true, text: "t'\\\u00e9\n", varchar: "v", char: "ab", uuid: "33333333-3333-4333-8333-333333333333", json: { a: [1, null] }, jsonb: [1, "x", { y: null }], raw: Buffer.from([0, 255, 39]),
        date: "2024-02-29", dateObject: new Date("2024-02-29"), time: "12:34:56.789", timetz: "12:34:56+02", ts: "2024-02-29 12:34:56.123456", tsObject: fixed, tstz: fixed, gap: "1 year 2 mons 3 days 04:05:06",
        ints: [1, -2], grid: [1, 2, 3], texts: ["a", "", 'q"', "{}", "NULL", "a\\b"], decs: ["1.25", "-3.50"], uuids: ["33333333-3333-4333-8333-333333333333"], bools: [true, false], stamps: [fixed], varchars: ["abc"], three: [1, 2, 3],
        ...(wide ? { inet: "10.0.0.1", cidr: "10.0.0.0/8", mac: "08:00:2b:01:02:03", point: [1, 2.5], pointObject: { x: 1, y: 2 }, gap3: "1 day 02:03:04.567" } : {}),
    };
    for (const [column, value] of Object.entries(all)) {
        await ask(`type ${column}`, async () => {
            const [one] = await db.insert(types).values({ [column]: value }).returning({ id: types.id, value: types[column] });
            const found = await db.select({ value: types[column] }).from(types).where(eq(types.id, one.id));
            return [one.value, found[0].value];
        });
    }
    await ask("types at once", async () => { const [row] = await db.insert(types).values(all).returning(); return { ...row, id: 0, smallSerial: 0 }; });
    await ask("types in a relation", async () => { const row = await db.query.types.findFirst({ where: isNotNull(types.gap), orderBy: desc(types.id) }); return { ...row, id: 0, smallSerial: 0 }; });

    // Errors.
    await ask("unique", () => db.insert(users).values({ email: "ann@x" }));
    if (wide) await ask("unique of an expression", () => db.insert(users).values({ email: "ANN@x" }));
    await ask("foreign key", () => db.insert(posts).values({ authorId: 999, title: "x" }));
    await ask("foreign key of two", () => db.insert(invitations).values({ userId: 9, groupId: 9 }));
    await ask("referenced", () => db.delete(users).where(eq(users.id, 1)));
    await ask("referenced, restricted", () => db.execute(sql`update users set id = default where id = 2`));
    await ask("not null", () => db.insert(posts).values({ authorId: 1, title: sql`null` }));
    await ask("check", () => db.insert(items).values({ name: "x", price: "-1" }));
    await ask("enum", () => db.insert(users).values({ email: "e@x", role: "nope" }));
    await ask("too long", () => db.insert(groups).values({ name: "x".repeat(41) }));
    await ask("out of range", () => db.insert(types).values({ small: 40000 }));
    await ask("generated", () => db.execute(sql`update users set label = 'x'`));
    await ask("no table", () => db.execute(sql`select * from nowhere`));
    await ask("no column", () => db.execute(sql`select nothing from users`));
    await ask("syntax", () => db.execute(sql`selec 1`));
    await ask("division", () => db.execute(sql`select 1 / 0`));

    // Raw SQL, and many rows.
    await ask("raw", async () => rowsOf(await db.execute(sql`select ${1}::int as a, ${"x"}::text as b, ${true}::bool as c, ${null}::int as d, ${sql.raw("1 + 1")} as e, ${JSON.stringify({ a: 1 })}::jsonb as f, array[${1}::int, ${2}::int] as g`)));
    await ask("raw identifiers", async () => rowsOf(await db.execute(sql`select ${users.email}, ${sql.identifier("score")} from ${users} where ${users.id} in ${[1, 2]} order by ${users.id}`)));
    await ask("raw joined", async () => rowsOf(await db.execute(sql`select id from users where ${sql.join([sql`id = 1`, sql`id = 2`], sql` or `)} order by id`)));
    await ask("many rows", async () => [await db.insert(groups).values(Array.from({ length: 5000 }, (_, i) => ({ name: `n${i}`, region: "zz" }))).returning({ id: groups.id }).then((r) => r.length), await db.$count(groups, eq(groups.region, "zz"))]);
    await ask("many at once", async () => new Set(await Promise.all(Array.from({ length: 40 }, () => db.$count(groups)))).size);
    await close(db);
}

await emptied();
if (process.env.ONLY !== "client") await tools();
else { rmSync(work, { recursive: true, force: true }); mkdirSync(work); }
answer("generate, for the ORM", kit("first", "orm", "generate", "--name", "first").status);
await queries("pg", () => nodePostgres(new pg.Pool(connection), { schema: full, logger }), (db) => db.$client.end(), migrateNodePostgres);
await emptied();
await queries("postgres.js", () => postgresJs(postgres({ ...connection, max: 5, onnotice: () => {} }), { schema: full, logger }), (db) => db.$client.end(), migratePostgresJs);
await emptied();
finish(process.env.ONLY !== "client");
rmSync(work, { recursive: true, force: true });
console.log("drizzle: ok");
