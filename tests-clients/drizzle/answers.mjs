// Answers compared with those recorded from PostgreSQL in answers/NAME.json, which RECORD=1 writes.
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

export function answersOf(directory, name) {
    const path = join(directory, "answers", `${name}.json`);
    const recording = process.env.RECORD === "1";
    const answers = recording ? {} : JSON.parse(readFileSync(path, "utf8"));
    const seen = new Set();
    let different = 0;

    // Goes on after a difference, so that one run names them all.
    function answer(about, value) {
        assert.ok(!seen.has(about), `two answers are named ${about}`);
        seen.add(about);
        const plain = JSON.parse(JSON.stringify(value ?? null, (_, v) => typeof v === "bigint" ? `${v}n` : v));
        if (recording) { answers[about] = plain; return; }
        try {
            assert.deepEqual(plain, answers[about]);
        } catch (error) {
            different++;
            console.error(`${about}: ${error.message}`);
        }
    }

    // The answer of what may fail: its value, or what `described` makes of its error.
    async function attempt(about, run, described) {
        let value;
        try {
            value = await run();
        } catch (error) {
            if (error.code === "ERR_ASSERTION") throw error;
            value = { failed: described(error) };
        }
        answer(about, value);
    }

    // `all`: whether every recorded question has been asked.
    function finish(all) {
        if (recording) {
            mkdirSync(dirname(path), { recursive: true });
            writeFileSync(path, `${JSON.stringify(answers, null, 1)}\n`);
        }
        assert.equal(different, 0, `${different} answers differ`);
        if (all) for (const about of Object.keys(answers)) assert.ok(seen.has(about), `no answer for ${about}`);
    }
    return { answer, attempt, finish };
}
