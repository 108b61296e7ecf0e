// Answers each line `{"input", "tenant"}` with the canonical form and the key that JavaScript reaches.
import canonicalize from "canonicalize";
import { createHash } from "node:crypto";
import { createInterface } from "node:readline";

const write = (line) => new Promise((done) => process.stdout.write(line + "\n", done));

for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
    const { input, tenant } = JSON.parse(line);
    const canonical = canonicalize(JSON.parse(input));
    const digest = createHash("sha256").update(canonical, "utf8").digest("hex");
    await write(JSON.stringify({ canonical, key: `dk_${tenant}_${digest.slice(0, 40)}` }));
}
