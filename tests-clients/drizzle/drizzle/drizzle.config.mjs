// What drizzle-kit works on: the schema and the place of its migrations come from the environment.
import { defineConfig } from "drizzle-kit";

export default defineConfig({
    dialect: "postgresql",
    schema: process.env.DRIZZLE_SCHEMA,
    out: process.env.DRIZZLE_OUT,
    dbCredentials: { host: "127.0.0.1", port: Number(process.env.PGPORT), user: "braid", password: "unused", database: "braid", ssl: false },
    schemaFilter: ["public", "shop"],
    migrations: { table: "applied", schema: "drizzle" },
    strict: false,
    verbose: true,
});
