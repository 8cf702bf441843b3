import type {
  AuditedChange,
  AuditEntry,
  ChangeAuthor,
  ChangeOutcome,
  NewToken,
  PageQuery,
  ProjectSnapshot,
  ProjectStore,
  StoredProject,
  StoredToken,
} from '../projects.js'

/** Most entries of the audit log that are kept. */
const MAX_AUDIT = 10_000

/** Keeps projects in memory, until the process ends. */
export class MemoryProjects implements ProjectStore {
  readonly announces: boolean = true
  readonly #now: () => number
  readonly #projects = new Map<string, StoredProject>()
  readonly #deleted = new Set<string>()
  readonly #tokens = new Map<string, StoredToken>()
  readonly #audit: AuditEntry[] = []
  readonly #listeners = new Set<() => void>()
  #version = 0

  /** @param now - Unix time in milliseconds. */
  constructor(now: () => number) {
    this.#now = now
  }

  watch(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  async version(): Promise<number> {
    return this.#version
  }

  async load(): Promise<ProjectSnapshot> {
    const tokens = [...this.#tokens.values()].filter(({ revokedAt }) => revokedAt === undefined)
    return { version: this.#version, projects: [...this.#projects.values()], tokens }
  }

  async createProject(
    { id, settings }: Pick<StoredProject, 'id' | 'settings'>,
    by: ChangeAuthor,
  ): Promise<ChangeOutcome> {
    if (this.#projects.has(id)) return 'taken'
    if (this.#deleted.has(id)) return 'deleted'
    this.#revokeAll(id)
    const at = this.#now()
    const position = this.#version + 1
    this.#projects.set(id, {
      ...{ id, settings, position },
      version: 1,
      createdAt: at,
      updatedAt: at,
    })
    return this.#done({ action: 'project.created', project: id, after: settings }, by)
  }

  async updateProject(
    { id, settings, version }: Pick<StoredProject, 'id' | 'settings' | 'version'>,
    by: ChangeAuthor,
  ): Promise<ChangeOutcome> {
    const project = this.#projects.get(id)
    if (project === undefined) return 'missing'
    if (project.version !== version) return 'changed'
    const next = { ...project, settings, version: version + 1, updatedAt: this.#now() }
    this.#projects.set(id, next)
    const { settings: before } = project
    return this.#done({ action: 'project.updated', project: id, before, after: settings }, by)
  }

  async deleteProject(id: string, by: ChangeAuthor): Promise<ChangeOutcome> {
    const project = this.#projects.get(id)
    if (project === undefined) return 'missing'
    this.#projects.delete(id)
    this.#deleted.add(id)
    this.#revokeAll(id)
    const { settings: before } = project
    return this.#done({ action: 'project.deleted', project: id, before }, by)
  }

  async findProject(id: string): Promise<StoredProject | undefined> {
    return this.#projects.get(id)
  }

  async listProjects({ after = 0, limit }: PageQuery): Promise<readonly StoredProject[]> {
    return [...this.#projects.values()]
      .filter(({ position }) => position > after)
      .toSorted((one, other) => one.position - other.position)
      .slice(0, limit)
  }

  async createToken(
    { isConfigured, ...token }: NewToken & { isConfigured: boolean },
    by: ChangeAuthor,
  ): Promise<ChangeOutcome> {
    const { id, project, label } = token
    if (!isConfigured && !this.#projects.has(project)) return 'missing'
    this.#tokens.set(id, { ...token, createdAt: this.#now() })
    return this.#done({ action: 'token.created', project, token: id, after: { label } }, by)
  }

  async revokeToken(
    { id, project }: Pick<StoredToken, 'id' | 'project'>,
    by: ChangeAuthor,
  ): Promise<ChangeOutcome> {
    const token = this.#tokens.get(id)
    if (token?.project !== project || token.revokedAt !== undefined) return 'missing'
    this.#tokens.set(id, { ...token, revokedAt: this.#now() })
    const before = { label: token.label }
    return this.#done({ action: 'token.revoked', project, token: id, before }, by)
  }

  async listTokens(project: string): Promise<readonly StoredToken[]> {
    return [...this.#tokens.values()].filter((token) => token.project === project)
  }

  async noteUse(tokens: readonly string[]): Promise<void> {
    for (const id of tokens) {
      const token = this.#tokens.get(id)
      if (token !== undefined) this.#tokens.set(id, { ...token, lastUsedAt: this.#now() })
    }
  }

  async noteAct(act: AuditedChange, by: ChangeAuthor): Promise<void> {
    if (!this.#audit.some(({ id }) => id === by.change)) this.#done(act, by)
  }

  async listAudit({
    after = Infinity,
    limit,
    project,
  }: PageQuery & { readonly project?: string | undefined }): Promise<readonly AuditEntry[]> {
    return this.#audit
      .filter((entry) => entry.position < after)
      .filter((entry) => project === undefined || entry.project === project)
      .toReversed()
      .slice(0, limit)
  }

  #revokeAll(project: string): void {
    const revokedAt = this.#now()
    for (const [id, token] of this.#tokens)
      if (token.project === project) this.#tokens.set(id, { revokedAt, ...token })
  }

  #done(change: AuditedChange, { actor, change: id }: ChangeAuthor): 'done' {
    this.#version += 1
    this.#audit.push({ ...change, id, actor, position: this.#version, at: this.#now() })
    if (this.#audit.length > MAX_AUDIT) this.#audit.shift()
    for (const listener of this.#listeners) listener()
    return 'done'
  }
}
