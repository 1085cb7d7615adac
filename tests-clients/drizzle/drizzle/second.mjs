// The second state of a schema, for `drizzle-kit generate` and `push`. WIDE=1 adds types and kinds of index which a server may lack.
import { sql } from "drizzle-orm";
import {
    bigint, bigserial, boolean, char, check, cidr, customType, date, doublePrecision, foreignKey, index, inet, integer, interval, json, jsonb, macaddr,
    numeric, pgEnum, pgMaterializedView, pgSchema, pgSequence, pgTable, pgView, point, primaryKey, real, serial, smallint, smallserial, text, time, timestamp,
    unique, uniqueIndex, uuid, varchar,
} from "drizzle-orm/pg-core";

const wide = process.env.WIDE === "1";
export const bytea = customType({ dataType: () => "bytea" });
export const shop = pgSchema("shop");
export const role = pgEnum("role", ["user", "owner", "admin", "guest list"]);
export const ticket = pgSequence("ticket", { startWith: 100, increment: 7, maxValue: 100000, minValue: 1, cycle: true, cache: 3 });

export const users = pgTable("users", {
    id: integer().primaryKey().generatedAlwaysAsIdentity(),
    email: varchar({ length: 120 }).notNull().unique(),
    name: varchar({ length: 200 }).notNull().default("nobody"),
    nick: text().unique(),
    role: role().notNull().default("user"),
    ...(wide ? { roles: role().array() } : {}),
    tags: text().array().notNull().default(["a", "b"]),
    options: jsonb().$type(),
    score: numeric({ precision: 14, scale: 4 }).notNull().default("1.5"),
    active: boolean().default(true).notNull(),
    managerId: integer("manager_id").references(() => users.id, { onDelete: "set null" }),
    madeAt: timestamp("made_at", { withTimezone: true, precision: 3 }).defaultNow().notNull(),
    changedAt: timestamp("changed_at", { mode: "string" }).$onUpdate(() => "2024-02-29 12:34:56"),
    label: text().generatedAlwaysAs(sql`email || '!'`),
}, (t) => [
    index("users_by_role").on(t.role, t.madeAt.desc().nullsLast()),
    uniqueIndex("users_lower_email").on(sql`lower(${t.email})`),
    index("users_active").on(t.name, t.email).where(sql`${t.active}`),
    check("score_positive", sql`${t.score} > -1`), check("email_shape", sql`${t.email} like '%@%'`),
    ...(wide ? [index("users_tags").using("gin", t.tags), index("users_name_hash").using("hash", t.name)] : []),
]);

export const groups = pgTable("groups", {
    id: serial().primaryKey(),
    name: varchar({ length: 40 }).notNull(),
    region: char({ length: 2 }),
}, (t) => [unique("group_name").on(t.name, t.region).nullsNotDistinct()]);

export const members = pgTable("members", {
    userId: integer("user_id").notNull().references(() => users.id, { onDelete: "cascade", onUpdate: "restrict" }),
    groupId: integer("group_id").notNull().references(() => groups.id, { onDelete: "cascade" }),
    since: date().notNull().defaultNow(),
    until: date(),
}, (t) => [primaryKey({ columns: [t.userId, t.groupId] }), index().on(t.groupId)]);

export const posts = pgTable("posts", {
    id: bigserial({ mode: "number" }).primaryKey(),
    authorId: integer("author_id").notNull().references(() => users.id, { onDelete: "cascade" }),
    title: text().notNull(),
    views: bigint({ mode: "bigint" }).notNull().default(sql`0`),
    kind: text({ enum: ["plain", "rich"] }).default("plain"),
}, (t) => [unique().on(t.authorId, t.title)]);

// A foreign key of two columns.
export const invitations = pgTable("invitations", {
    id: uuid().primaryKey().defaultRandom(),
    userId: integer("user_id"),
    groupId: integer("group_id"),
}, (t) => [foreignKey({ columns: [t.userId, t.groupId], foreignColumns: [members.userId, members.groupId], name: "invitation_member" }).onDelete("set null")]);

export const items = shop.table("items", {
    id: bigint({ mode: "number" }).primaryKey().generatedAlwaysAsIdentity({ startWith: 1000, increment: 20 }),
    name: text().notNull(),
    price: numeric({ precision: 10, scale: 2 }).notNull(),
    stock: integer(),
}, (t) => [check("price_positive", sql`${t.price} > 0`)]);

export const types = pgTable("types", {
    id: serial().primaryKey(),
    small: smallint(), smallSerial: smallserial("small_serial"), big: bigint({ mode: "bigint" }), real: real(), double: doublePrecision(), dec: numeric({ precision: 20, scale: 6 }), free: numeric(),
    bool: boolean(), text: text(), varchar: varchar({ length: 20 }), char: char({ length: 5 }), uuid: uuid(), json: json(), jsonb: jsonb(), raw: bytea(),
    date: date(), dateObject: date("date_object", { mode: "date" }), time: time({ precision: 3 }), timetz: time({ withTimezone: true }), ts: timestamp({ precision: 6, mode: "string" }), tsObject: timestamp("ts_object"), tstz: timestamp({ withTimezone: true }), gap: interval(),
    ints: integer().array(), grid: integer().array(), texts: text().array(), decs: numeric({ precision: 8, scale: 2 }).array(), uuids: uuid().array(), bools: boolean().array(), stamps: timestamp({ withTimezone: true }).array(), varchars: varchar({ length: 5 }).array(), three: integer().array(3),
    ...(wide ? { inet: inet(), cidr: cidr(), mac: macaddr(), point: point(), pointObject: point("point_object", { mode: "xy" }), gap3: interval({ fields: "day to second", precision: 3 }) } : {}),
});

export const extra = pgTable("extra", { id: serial().primaryKey(), note: text().notNull() });

export const adults = pgView("authors").as((q) => q.selectDistinct({ id: users.id, email: users.email }).from(users).innerJoin(posts, sql`${posts.authorId} = ${users.id}`));
export const totals = pgMaterializedView("totals").as((q) => q.select({ authorId: posts.authorId, posts: sql`count(*)`.as("posts"), views: sql`sum(${posts.views})`.as("views") }).from(posts).groupBy(posts.authorId));
export const dear = shop.view("dear").as((q) => q.select({ id: items.id, name: items.name, price: items.price }).from(items).where(sql`${items.price} > 20`));
