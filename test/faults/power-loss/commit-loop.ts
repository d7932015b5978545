/*
 * The smallest program worth a power cut: commits rows one by one and acknowledges each on standard output.
 * Arguments: the folder, the value of PRAGMA synchronous, the number of commits.
 */
import { writeSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

const [folder = "", synchronous = "", commits = ""] = process.argv.slice(2);
const database = new DatabaseSync(join(folder, "loop.db"));
// A short log, so that the recording includes many checkpoints and many restarts of the log.
database.exec("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 20;");
database.exec(`PRAGMA synchronous = ${synchronous}; CREATE TABLE item (id INTEGER PRIMARY KEY, content BLOB) STRICT;`);
const insert = database.prepare("INSERT INTO item VALUES (?, ?)");
for (let id = 1; id <= Number(commits); id += 1) {
	insert.run(id, Buffer.alloc(id % 2000, id));
	writeSync(1, `ack ${id}\n`);
}
