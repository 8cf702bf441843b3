import { describe, expect, it } from '@jest/globals'
import { randomBytes } from 'node:crypto'
import { LedgerError } from '../../../src/shared/errors.js'
import { createMemoryLedger } from '../../../src/ledger/memory-ledger.js'
import type { ProjectStore } from '../../../src/ledger/index.js'
import { digestToken } from '../../../src/shared/crypto/identify-token.js'
import { ProjectDirectory } from '../../../src/core/merchants/project-directory.js'
import { merchantReader } from '../../../src/gateway/config/resolve/projects.js'
import { resolveOptions } from '../../../src/gateway/config/resolve/resolve-options.js'
import { recordLog, serveGateway, type RecordedLog } from '../../api/api.js'
import { OPEN, PAY_TO, SHOP_TOKEN } from '../../api/admin/admin.js'
import { bound, patchedLedger } from '../../support/patched-ledger.js'
import { until } from '../../support/until.js'
import { useCleanup } from '../../support/cleanup.js'

const merchant = { payTo: PAY_TO }
const author = () => ({ actor: 'tester', change: randomBytes(8).toString('hex') })

const toEnd = useCleanup()

/** A directory of the configured project `shop`, on a store. */
function openDirectory(
  store: ProjectStore,
  now: () => number = Date.now,
): { directory: ProjectDirectory; log: RecordedLog } {
  const log = recordLog()
  const { projects, networks } = resolveOptions(OPEN)
  const readMerchant = merchantReader(networks)
  const directory = new ProjectDirectory({ projects, store, readMerchant, logger: log, now })
  toEnd.push(() => directory.close())
  return { directory, log }
}

/** A store whose database is away until it is said to be back. */
function openAway() {
  const { projects } = createMemoryLedger()
  const state = { isAway: true }
  const version = async (): Promise<number> => {
    if (state.isAway) throw new LedgerError('ledger_unavailable', 'The ledger is away.')
    return projects.version()
  }
  return { state, store: { ...bound(projects), announces: false, version } }
}

describe('The directory of projects', () => {
  it('lets the configuration win over a project of the ledger, and warns', async () => {
    const { projects } = createMemoryLedger()
    const settings = { ...merchant, name: 'Stored' }
    await projects.createProject({ id: 'shop', settings }, author())
    const { directory, log } = openDirectory(projects)
    await directory.whenLoaded()
    expect(directory.find('shop')?.merchant?.name).toBe('Configured')
    expect(directory.findMerchant('shop')?.name).toBe('Configured')
    expect(log.lines).toEqual([expect.stringMatching(/^warn .*"project":"shop"/)])
  })

  it('pays at the address that has waited, by the clock of the gateway', async () => {
    const { projects } = createMemoryLedger()
    await projects.createProject({ id: 'acme', settings: merchant }, author())
    const nextPayTo = { payTo: `0x${'cd'.repeat(20)}`, afterMs: 3_600_000 } as const
    const change = { id: 'acme', settings: merchant, version: 1, nextPayTo }
    await projects.updateProject(change, author())
    const applied: string[] = []
    const applyNextPayTo: ProjectStore['applyNextPayTo'] = async (project) => {
      applied.push(project.id)
      return projects.applyNextPayTo(project)
    }
    const store = { ...bound(projects), applyNextPayTo }
    const { directory } = openDirectory(store, () => Date.now() + 7_200_000)
    await directory.refresh()
    await directory.refresh()
    expect(applied).toContain('acme')
  })

  it('keeps a project that no longer fits the configuration, which cannot be paid', async () => {
    const { projects } = createMemoryLedger()
    const accepts = [{ network: 'base', asset: 'USDC' }]
    await projects.createProject({ id: 'acme', settings: { ...merchant, accepts } }, author())
    const { directory, log } = openDirectory(projects)
    await directory.whenLoaded()
    expect(directory.find('acme')).toMatchObject({ id: 'acme' })
    expect(directory.findMerchant('acme')).toBeUndefined()
    expect(log.lines).toEqual([expect.stringMatching(/^warn .*accepts\.0 'USDC' on 'base'/)])
  })

  it('returns the same merchant object until it changes', async () => {
    const { projects } = createMemoryLedger()
    await projects.createProject({ id: 'acme', settings: merchant }, author())
    const { directory } = openDirectory(projects)
    await directory.whenLoaded()
    const known = directory.findMerchant('acme')
    await projects.createProject({ id: 'other', settings: merchant }, author())
    await directory.refresh()
    expect(directory.findMerchant('other')).toBeDefined()
    expect(directory.findMerchant('acme')).toBe(known)
    await projects.updateProject({ id: 'acme', settings: merchant, version: 1 }, author())
    await directory.refresh()
    expect(directory.findMerchant('acme')).not.toBe(known)
  })

  it('reads the project that has changed, and keeps the order of all and the tokens of others', async () => {
    const { projects } = createMemoryLedger()
    const read: number[] = []
    const load: typeof projects.load = async (since) => {
      const snapshot = await projects.load(since)
      read.push(snapshot.projects.length)
      return snapshot
    }
    const tokenOf = async (project: string) => {
      await projects.createProject({ id: project, settings: merchant }, author())
      const token = `a-token-of-the-project-${project}`
      const hash = digestToken(token).toString('hex')
      const scopes = ['read'] as const
      const row = { id: `tok_${project}`, project, hash, label: '', scopes, isConfigured: false }
      await projects.createToken(row, author())
      return token
    }
    const [first, second, third] = [await tokenOf('a'), await tokenOf('b'), await tokenOf('c')]
    const { directory } = openDirectory({ ...bound(projects), announces: false, load })
    await directory.whenLoaded()
    await projects.updateProject(
      { id: 'a', settings: { ...merchant, name: 'A' }, version: 1 },
      author(),
    )
    await projects.revokeToken({ id: 'tok_b', project: 'b' }, author())
    await projects.deleteProject('c', author())
    await directory.refresh()
    await tokenOf('d')
    await directory.refresh()
    expect(directory.all.map(({ id }) => id)).toEqual(['shop', 'a', 'b', 'd'])
    expect(directory.findByToken(first)?.project.merchant?.name).toBe('A')
    expect([second, third].map((token) => directory.findByToken(token))).toEqual([
      undefined,
      undefined,
    ])
    expect(read[0]).toBe(3)
    expect(read.slice(1).reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(4)
  })

  it('finds configured and stored tokens, and no others', async () => {
    const { projects } = createMemoryLedger()
    await projects.createProject({ id: 'acme', settings: merchant }, author())
    const stored = 'a-token-of-the-ledger'
    const hash = digestToken(stored).toString('hex')
    const scopes = ['read'] as const
    const token = { id: 'tok_1', project: 'acme', hash, label: '', scopes, isConfigured: false }
    await projects.createToken(token, author())
    const { directory } = openDirectory(projects)
    await directory.whenLoaded()
    expect(directory.findByToken(stored)).toMatchObject({
      project: { id: 'acme' },
      scopes: ['read'],
    })
    expect(directory.findByToken(SHOP_TOKEN)?.project.id).toBe('shop')
    for (const wrong of [hash, `sha256:${hash}`, '', `${stored} `, 'acme'])
      expect(directory.findByToken(wrong)).toBeUndefined()
  })

  it('records the use of a token once a minute, however often it is used', async () => {
    const noted: (readonly string[])[] = []
    const projects = {
      ...bound(createMemoryLedger().projects),
      announces: false,
      noteUse: async (tokens: readonly string[]) => void noted.push(tokens),
    }
    const stored = 'a-token-of-the-ledger'
    const hash = digestToken(stored).toString('hex')
    const scopes = ['read'] as const
    const token = { id: 'tok_1', project: 'shop', hash, label: '', scopes, isConfigured: true }
    await projects.createToken(token, author())
    const { directory } = openDirectory(projects)
    await directory.whenLoaded()
    for (let index = 0; index < 1000; index++) directory.findByToken(stored)
    await directory.close()
    expect(noted).toEqual([['tok_1']])
  })

  it('serves known projects while the ledger is away, warns once, and follows when it is back', async () => {
    const { state, store } = openAway()
    const { directory, log } = openDirectory(store)
    await store.createProject({ id: 'acme', settings: merchant }, author())
    await directory.refresh()
    await directory.refresh()
    expect(directory.isLoaded).toBe(false)
    expect(directory.findByToken(SHOP_TOKEN)?.project.id).toBe('shop')
    expect(log.lines).toHaveLength(1)
    state.isAway = false
    await until(() => directory.find('acme') !== undefined)
    expect(log.lines).toEqual([
      expect.stringMatching(/^warn Cannot read projects/),
      expect.stringMatching(/^info Projects can be read/),
    ])
  })

  it('refuses no token before the first read of the ledger', async () => {
    const { state, store } = openAway()
    const ledger = patchedLedger(createMemoryLedger(), { projects: store })
    const api = await serveGateway({ ...OPEN, ledger })
    const ask = (token: string) =>
      api.send('GET', '/api/v2/merchant/settlements', {
        headers: { 'X-Project-Identify-Token': token },
      })
    expect((await ask(SHOP_TOKEN)).status).toBe(200)
    const unknown = await ask('a-token-that-may-be-stored')
    expect(unknown).toMatchObject({ status: 503, body: { code: 'ledger_unavailable' } })
    expect(unknown.headers.get('retry-after')).toBe('5')
    state.isAway = false
    await until(async () => (await ask('a-token-that-may-be-stored')).status === 401)
    await api.close()
  })
})
