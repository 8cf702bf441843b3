import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { join } from 'node:path'
import type { LedgerStore } from '../../src/ledger/index.js'
import { createMemoryLedger } from '../../src/ledger/memory-ledger.js'
import { openPostgresLedger } from '../../src/ledger/postgres-ledger.js'
import { openSqliteLedger } from '../../src/ledger/sqlite-ledger.js'
import { createSchema, findPostgres, type TestSchema } from '../support/postgres.js'
import { until } from '../support/until.js'
import {
  author,
  describeProjects,
  describeSqlProjects,
  newStoredToken,
} from './projects-conformance.js'
import { useCleanup, temporaryFolder } from '../support/cleanup.js'

const root = await findPostgres()

describe('Projects in memory', () => {
  describeProjects(() => createMemoryLedger())

  it('list a token in use, however many were made and revoked since', async () => {
    const { projects } = createMemoryLedger()
    await projects.createProject({ id: 'acme', settings: {} }, author())
    const hidden = newStoredToken('acme')
    await projects.createToken(hidden, author())
    for (let n = 0; n < 1001; n++) {
      const token = newStoredToken('acme')
      await projects.createToken(token, author())
      await projects.revokeToken(token, author())
    }
    const listed = await projects.listTokens('acme')
    expect(listed).toHaveLength(1000)
    expect(listed[0]?.id).toBe(hidden.id)
  })
})

describe('Projects in SQLite', () => {
  let folder: string
  const toEnd = useCleanup()
  beforeEach(() => {
    folder = temporaryFolder(toEnd)
  })
  describeProjects(() => openSqliteLedger(join(folder, 'ledger.db')))
  describeSqlProjects(() => openSqliteLedger(join(folder, 'ledger.db')))
})

const describePostgres = root === undefined ? describe.skip : describe
describePostgres('Projects in PostgreSQL', () => {
  let schema: TestSchema
  const ledgers: LedgerStore[] = []
  beforeEach(async () => {
    schema = await createSchema(root!)
  })
  afterEach(async () => {
    await Promise.all(ledgers.splice(0).map((ledger) => ledger.close()))
    await schema.drop()
  })
  describe('as in every store,', () => {
    describeProjects(() => openPostgresLedger(schema.url))
    describeSqlProjects(() => openPostgresLedger(schema.url))
  })

  it('are announced to other processes, even after their sessions were ended', async () => {
    const named = `${schema.url}&application_name=${schema.name}`
    const [one, other] = [openPostgresLedger(schema.url), openPostgresLedger(named)]
    ledgers.push(one, other)
    let told = 0
    other.projects.watch(() => (told += 1))
    await other.projects.version()
    await until(() => other.projects.announces)
    const before = told
    await one.projects.createProject({ id: 'acme', settings: {} }, author())
    await until(() => told > before)

    const lost = told
    await schema.execute(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '${schema.name}'`,
    )
    await until(() => told > lost && other.projects.announces)
    const again = told
    await one.projects.deleteProject('acme', author())
    await until(() => told > again)
    expect(await other.projects.version()).toBe(2)
  })
})
