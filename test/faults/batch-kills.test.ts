import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, describe, expect, it } from '@jest/globals'
import { loadSqlite } from '../../src/ledger/engine/sqlite.js'
import { useDevnet } from '../support/devnet.js'
import { createSchema, findPostgres } from '../support/postgres.js'
import { until } from '../support/until.js'
import { useWorlds } from './use-worlds.js'
import type { World } from './world.js'
import { useCleanup } from '../support/cleanup.js'

const devnet = useDevnet()
const open = useWorlds(devnet)
const postgres = await findPostgres()
const toEnd = useCleanup(afterAll)

const PAYMENTS = 8

/** Milliseconds from the first payment to the kill: among the rows of the batch, here or there. */
const MOMENTS_MS = [300, 700, 1100, 1500]

/** What a payment is told that the ledger notes as delivered. */
const ALREADY_USED = 'invalid_exact_evm_nonce_already_used'

/** Makes every row that becomes `submitted` take some 200 ms. */
const SLOWLY = {
  sqlite: `CREATE TRIGGER slowly AFTER UPDATE ON x402_authorizations WHEN NEW.state = 'submitted' BEGIN
    SELECT count(*) FROM (WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 1000000) SELECT n FROM c);
  END`,
  postgres: `CREATE FUNCTION slowly() RETURNS trigger AS $$ BEGIN
    IF NEW.state = 'submitted' THEN PERFORM pg_sleep(0.2); END IF; RETURN NEW;
  END $$ LANGUAGE plpgsql;
  CREATE TRIGGER slowly AFTER UPDATE ON x402_authorizations FOR EACH ROW EXECUTE FUNCTION slowly()`,
}

async function killAmongRows(world: World, execute: (statements: string) => Promise<unknown>) {
  const first = await world.start()
  // The tables are there, and the relayer is warm.
  expect(await world.present(first, await world.sign())).toMatchObject({ delivered: true })
  return {
    first,
    slow: () => execute(SLOWLY[world.ledger.startsWith('postgres') ? 'postgres' : 'sqlite']),
  }
}

async function runKill(world: World, afterMs: number, execute: (s: string) => Promise<unknown>) {
  const { first, slow } = await killAmongRows(world, execute)
  await slow()
  const payments = await Promise.all(Array.from({ length: PAYMENTS }, () => world.sign()))
  const presented = Promise.all(payments.map((payment) => world.present(first, payment)))
  await sleep(afterMs)
  await first.kill()
  const before = await presented
  await execute(
    'DROP TRIGGER slowly' + (world.ledger.startsWith('postgres') ? ' ON x402_authorizations' : ''),
  )

  const next = await world.start()
  // What the dead process left is looked after before anybody asks for it.
  await until(async () => {
    const { records } = await world.evidence()
    return records.every(({ state }) => state !== 'submitted')
  })
  const { transfers, records } = await world.evidence()
  const known = new Set(records.map(({ from, nonce }) => `${from}:${nonce}`.toLowerCase()))
  for (const { authorization } of transfers) expect(known).toContain(authorization)
  const answers = await world.presentAll(next, payments)
  // Each once: some by the process that was killed, the others by the next. A kill between the note
  // of a delivery and the answer loses the answer: such a payment counts as delivered, too.
  const times = answers.map(
    ({ delivered, reason }, index) =>
      Number(delivered || (reason === ALREADY_USED && !before[index]!.delivered)) +
      Number(before[index]!.delivered),
  )
  expect(times).toEqual(payments.map(() => 1))
  expect((await world.evidence()).transfers).toHaveLength(PAYMENTS + 1)
}

describe('a process that is killed between two rows of a batch', () => {
  it.each(MOMENTS_MS)(
    'leaves no payment without its record in SQLite, after %d ms',
    async (afterMs) => {
      const world = await open()
      await runKill(world, afterMs, async (statements) => {
        const database = new (loadSqlite())(world.ledger)
        database.exec('PRAGMA busy_timeout = 5000')
        database.exec(statements)
        database.close()
      })
      expect(await world.violations()).toEqual([])
    },
  )

  it.each(MOMENTS_MS)(
    'leaves no payment without its record in PostgreSQL, after %d ms',
    async (afterMs) => {
      if (postgres === undefined) return
      const schema = await createSchema(postgres)
      toEnd.push(() => schema.drop())
      const world = await open({ ledger: schema.url })
      await runKill(world, afterMs, (statements) => schema.execute(statements))
      expect(await world.violations()).toEqual([])
    },
  )
})
