/** A tenant who changes its settings and webhooks all day beside many others: what its gateways read again. */
import { randomBytes } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { ProjectDirectory } from '../../src/core/merchants/project-directory.js'
import { merchantReader } from '../../src/gateway/config/resolve/projects.js'
import { resolveOptions } from '../../src/gateway/config/resolve/resolve-options.js'
import { OPEN, PAY_TO } from '../api/admin/admin.js'
import { recordLog } from '../api/api.js'
import { useCleanup } from '../support/cleanup.js'
import { bound } from '../support/patched-ledger.js'
import { storeMakers } from './stores.js'

const MERCHANTS = 300
/** What a tenant may change in a minute: settings and webhooks. */
const [SETTINGS, WEBHOOKS] = [30, 120]

const merchant = {
  payTo: PAY_TO,
  branding: { logo: `data:image/png;base64,${'A'.repeat(12_000)}` },
}
const author = () => ({ actor: 'tenant', change: randomBytes(16).toString('hex') })

describe.each(storeMakers)('a tenant beside 300 merchants in %s', (name, make) => {
  const toEnd = useCleanup()

  it('has its own settings read again for a change of them, and nothing for one of webhooks', async () => {
    const store = await make()
    if (store === undefined) return
    toEnd.push(() => store.drop())
    const ledger = store.open()
    toEnd.push(() => ledger.close())
    const { projects, webhooks } = ledger
    for (let n = 0; n < MERCHANTS; n++)
      await projects.createProject({ id: `m${n}`, settings: merchant }, author())
    const read: number[] = []
    const load: typeof projects.load = async (since) => {
      const snapshot = await projects.load(since)
      read.push(snapshot.projects.length)
      return snapshot
    }
    const { projects: configured, networks } = resolveOptions(OPEN)
    const directory = new ProjectDirectory({
      ...{ projects: configured, store: { ...bound(projects), announces: false, load } },
      ...{ readMerchant: merchantReader(networks), logger: recordLog(), now: Date.now },
    })
    toEnd.push(() => directory.close())
    await directory.refresh()
    expect(Math.max(...read)).toBe(MERCHANTS)
    read.length = 0
    const started = process.cpuUsage()
    for (let n = 1; n <= SETTINGS; n++) {
      const settings = { ...merchant, name: `Shop ${n}` }
      await projects.updateProject({ id: 'm7', settings, version: n }, author())
      await directory.refresh()
      expect(directory.findMerchant('m7')?.name).toBe(`Shop ${n}`)
    }
    const endpoints = webhooks.endpoints.by(author())
    const endpoint = {
      id: 'we_1',
      project: 'm7',
      url: 'https://a.example/',
      events: [],
      secret: 's',
    }
    await endpoints.create(endpoint)
    for (let n = 0; n < WEBHOOKS; n++) {
      await webhooks.endpoints.by(author()).change('m7', 'we_1', { url: `https://a.example/${n}` })
      await directory.refresh()
    }
    const { user, system } = process.cpuUsage(started)
    expect(new Set(read)).toEqual(new Set([1, 0]))
    expect(read.reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(SETTINGS)
    const cpuMs = Math.round((user + system) / 1000)
    process.stdout.write(`${name}: ${SETTINGS + WEBHOOKS} changes took ${cpuMs} ms of CPU\n`)
  })
})
