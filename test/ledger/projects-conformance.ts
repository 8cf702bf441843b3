/** What every store of projects has to do. */
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { randomBytes } from 'node:crypto'
import type { LedgerStore } from '../../src/ledger/index.js'
import type { ChangeAuthor, NewToken } from '../../src/ledger/projects.js'

/** An author of one change. */
export const author = (actor = 'tester'): ChangeAuthor => ({
  actor,
  change: randomBytes(16).toString('hex'),
})

/** A token that nobody else has. */
export const newStoredToken = (project: string): NewToken & { isConfigured: boolean } => ({
  id: `tok_${randomBytes(12).toString('hex')}`,
  project,
  hash: randomBytes(32).toString('hex'),
  label: 'a label',
  scopes: ['settle', 'read'],
  isConfigured: false,
})

const settings = { payTo: '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913', name: '<b>"Ünïcode\0"' }

/** Declares the tests of a store. */
export function describeProjects(open: () => LedgerStore | Promise<LedgerStore>): void {
  let ledger: LedgerStore
  beforeEach(async () => {
    ledger = await open()
  })
  afterEach(() => ledger.close())

  it('keeps a project and its merchant as given', async () => {
    const { projects } = ledger
    expect(await projects.createProject({ id: 'acme', settings }, author())).toBe('done')
    const found = await projects.findProject('acme')
    expect(found).toMatchObject({ id: 'acme', settings, version: 1 })
    expect(Math.abs(found!.createdAt - Date.now())).toBeLessThan(60_000)
    expect(await projects.findProject('other')).toBeUndefined()
    expect(await projects.load()).toMatchObject({ version: 1, projects: [found], tokens: [] })
  })

  it('creates a project once, however many callers ask for its id at once', async () => {
    const { projects } = ledger
    const asked = Array.from({ length: 20 }, () =>
      projects.createProject({ id: 'acme', settings }, author()),
    )
    const outcomes = await Promise.all(asked)
    expect(outcomes.toSorted()).toEqual(['done', ...Array(19).fill('taken')])
    expect(await projects.version()).toBe(1)
    expect(await projects.listAudit({ limit: 10 })).toHaveLength(1)
  })

  it('changes a project only at the version that the caller has read', async () => {
    const { projects } = ledger
    await projects.createProject({ id: 'acme', settings }, author())
    const next = { ...settings, name: 'Next' }
    const change = { id: 'acme', settings: next, version: 1 }
    expect(await projects.updateProject(change, author())).toBe('done')
    expect(await projects.updateProject(change, author())).toBe('changed')
    expect(await projects.updateProject({ ...change, id: 'other' }, author())).toBe('missing')
    expect(await projects.findProject('acme')).toMatchObject({ settings: next, version: 2 })
  })

  it('revokes the tokens of a deleted project, and never reuses its id', async () => {
    const { projects } = ledger
    await projects.createProject({ id: 'acme', settings }, author())
    await projects.createToken(newStoredToken('acme'), author())
    expect(await projects.deleteProject('acme', author())).toBe('done')
    expect(await projects.deleteProject('acme', author())).toBe('missing')
    expect(await projects.createProject({ id: 'acme', settings }, author())).toBe('deleted')
    expect(await projects.createToken(newStoredToken('acme'), author())).toBe('missing')
    expect(await projects.load()).toMatchObject({ projects: [], tokens: [] })
    const [token] = await projects.listTokens('acme')
    expect(token).toMatchObject({ revokedAt: expect.any(Number) })
  })

  it('loads what has changed after a change, and no project for a change of a webhook', async () => {
    const { projects, webhooks } = ledger
    for (const id of ['acme', 'other', 'gone'])
      await projects.createProject({ id, settings }, author())
    const token = newStoredToken('acme')
    await projects.createToken(token, author())
    const { version } = await projects.load()
    expect(await projects.load(version)).toMatchObject({ changed: [], projects: [], tokens: [] })
    const endpoint = {
      id: 'we_1',
      project: 'other',
      url: 'https://a.example/',
      events: [],
      secret: 's',
    }
    await webhooks.endpoints.by(author()).create(endpoint)
    const edited = await projects.load(version)
    expect(edited).toMatchObject({ version: version + 1, changed: [], projects: [], tokens: [] })
    await projects.deleteProject('gone', author())
    await projects.updateProject({ id: 'acme', settings, version: 1 }, author())
    const changed = await projects.load(edited.version)
    expect(changed.changed?.toSorted()).toEqual(['acme', 'gone'])
    expect(changed.projects).toMatchObject([{ id: 'acme', version: 2 }])
    expect(changed.tokens).toMatchObject([{ id: token.id }])
    expect(await projects.load()).toMatchObject({ projects: [{ id: 'acme' }, { id: 'other' }] })
  })

  it('revokes the old tokens of an id when a project takes it', async () => {
    const { projects } = ledger
    const token = { ...newStoredToken('moved'), isConfigured: true }
    expect(await projects.createToken(token, author())).toBe('done')
    expect((await projects.load()).tokens).toHaveLength(1)
    await projects.createProject({ id: 'moved', settings }, author())
    expect((await projects.load()).tokens).toEqual([])
  })

  it('keeps tokens by hash, with their last use, until they are revoked', async () => {
    const { projects } = ledger
    await projects.createProject({ id: 'acme', settings }, author())
    await projects.createProject({ id: 'other', settings }, author())
    const [first, second] = [newStoredToken('acme'), newStoredToken('acme')]
    await projects.createToken(first, author())
    await projects.createToken(second, author())
    await projects.noteUse([first.id])
    const { isConfigured: _, ...kept } = first
    expect(await projects.listTokens('acme')).toMatchObject([
      { ...kept, createdAt: expect.any(Number), lastUsedAt: expect.any(Number) },
      { id: second.id },
    ])
    expect(await projects.revokeToken({ id: first.id, project: 'other' }, author())).toBe('missing')
    expect(await projects.revokeToken({ id: first.id, project: 'acme' }, author())).toBe('done')
    expect(await projects.revokeToken({ id: first.id, project: 'acme' }, author())).toBe('missing')
    expect((await projects.load()).tokens).toMatchObject([{ id: second.id, hash: second.hash }])
    expect(await projects.listTokens('other')).toEqual([])
  })

  it('records every change with its author and subject', async () => {
    const { projects } = ledger
    const token = newStoredToken('acme')
    const next = { ...settings, name: 'Next' }
    await projects.createProject({ id: 'acme', settings }, author('ann'))
    await projects.createToken(token, author('bob'))
    await projects.updateProject({ id: 'acme', settings: next, version: 1 }, author('ann'))
    await projects.revokeToken({ id: token.id, project: 'acme' }, author('bob'))
    await projects.deleteProject('acme', author('ann'))
    await projects.createProject({ id: 'other', settings }, author('ann'))

    const all = await projects.listAudit({ limit: 10, project: 'acme' })
    const label = { label: 'a label' }
    expect(all).toMatchObject([
      { actor: 'ann', action: 'project.deleted', project: 'acme', before: next, position: 5 },
      { actor: 'bob', action: 'token.revoked', project: 'acme', token: token.id, before: label },
      {
        ...{ actor: 'ann', action: 'project.updated', project: 'acme' },
        ...{ before: { name: settings.name }, after: { name: 'Next' } },
      },
      { actor: 'bob', action: 'token.created', project: 'acme', token: token.id, after: label },
      { actor: 'ann', action: 'project.created', project: 'acme', after: settings, position: 1 },
    ])
    expect(JSON.stringify(all)).not.toContain(token.hash)
    const page = await projects.listAudit({ limit: 2, after: 4 })
    expect(page).toEqual(all.slice(2, 4))
  })

  it('records what differs, and not what was there before', async () => {
    const { projects } = ledger
    const branding = { logo: 'data:'.padEnd(16_000, 'A'), texts: { heading: 'Hi', paid: 'Paid' } }
    await projects.createProject({ id: 'acme', settings: { ...settings, branding } }, author())
    const texts = { paid: 'Paid', note: 'Thanks' }
    const next = { ...settings, accepts: [1, 2], branding: { ...branding, texts } }
    const change = { id: 'acme', settings: next, version: 1, pausedBy: 'merchant' } as const
    expect(await projects.updateProject(change, author())).toBe('done')
    const [changed] = await projects.listAudit({ limit: 1 })
    expect([changed!.before, changed!.after]).toEqual([
      { branding: { texts: { heading: 'Hi' } } },
      { accepts: [1, 2], branding: { texts: { note: 'Thanks' } }, pausedBy: 'merchant' },
    ])
  })

  it('loads projects in the order of their creation', async () => {
    const { projects } = ledger
    for (const id of ['zebra', 'apple', 'Mouse'])
      await projects.createProject({ id, settings }, author())
    const { projects: all } = await projects.load()
    expect(all.map(({ id }) => id)).toEqual(['zebra', 'apple', 'Mouse'])
  })

  it('tells a watcher of each change until he stops watching', async () => {
    const { projects } = ledger
    let told = 0
    const unwatch = projects.watch(() => (told += 1))
    await projects.createProject({ id: 'acme', settings }, author())
    expect(told).toBeGreaterThanOrEqual(1)
    unwatch()
    told = 0
    await projects.deleteProject('acme', author())
    expect(told).toBe(0)
  })
}

/** Declares the tests of a store whose statements may run twice. */
export function describeSqlProjects(open: () => LedgerStore): void {
  it('makes a change once if its statements run twice, as after a lost connection', async () => {
    const ledger = open()
    const { projects } = ledger
    const by = author()
    expect(await projects.createProject({ id: 'acme', settings }, by)).toBe('done')
    expect(await projects.createProject({ id: 'acme', settings }, by)).toBe('done')
    expect(await projects.listAudit({ limit: 10 })).toHaveLength(1)
    await ledger.close()
  })
}
