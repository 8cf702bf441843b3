// One process of the test of the WAL-reset race: writes rows and tells of each that was committed, or
// checkpoints in a loop. `node wal-reset-process.mjs writer|checkpointer <module> <file>`
import { writeSync } from 'node:fs'
import { createRequire } from 'node:module'

const [role, engine, file] = process.argv.slice(2)
const { DatabaseSync } = createRequire(import.meta.url)(engine)
const database = new DatabaseSync(file)

/** Does something as soon as nobody else has the file locked. */
function whenFree(work) {
  for (;;) {
    try {
      return work()
    } catch (error) {
      if (!/busy|locked/i.test(error.message)) throw error
    }
  }
}

whenFree(() => database.exec('PRAGMA busy_timeout = 5'))
if (role === 'checkpointer') {
  for (;;) whenFree(() => database.exec('PRAGMA wal_checkpoint(PASSIVE)'))
} else {
  const pragmas = ['journal_mode = WAL', 'synchronous = FULL', 'wal_autocheckpoint = 100000']
  for (const pragma of pragmas) whenFree(() => database.exec(`PRAGMA ${pragma}`))
  whenFree(() => database.exec('CREATE TABLE IF NOT EXISTS rows (id TEXT PRIMARY KEY, fill TEXT)'))
  const insert = database.prepare('INSERT INTO rows VALUES (?, ?)')
  for (let n = 0; ; n++) {
    const id = `${process.pid}-${n}`
    whenFree(() => database.exec('BEGIN IMMEDIATE'))
    insert.run(id, 'x'.repeat(300 + ((n * 37) % 3000)))
    database.exec('COMMIT')
    writeSync(1, `${id}\n`)
  }
}
