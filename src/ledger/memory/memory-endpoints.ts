import type { ChangeAuthor, ProjectStore } from '../projects.js'
import {
  MAX_ENDPOINTS,
  type EndpointChange,
  type SecretRotation,
  type WebhookEndpoint,
  type WebhookEndpoints,
} from '../webhook-store.js'
import { AuditedEndpoints } from './audited-endpoints.js'

/** Options of {@link MemoryEndpoints}. */
interface MemoryEndpointsOptions {
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /** Keeps the audit log. */
  readonly projects: Pick<ProjectStore, 'noteAct'>
  /** Called with the id of each endpoint that is deleted. */
  readonly onDeleted: (id: string) => void
}

/** Endpoints of webhooks in memory. */
export class MemoryEndpoints implements WebhookEndpoints {
  readonly #options: MemoryEndpointsOptions
  readonly #byProject = new Map<string, Map<string, WebhookEndpoint>>()

  constructor(options: MemoryEndpointsOptions) {
    this.#options = options
  }

  by(author: ChangeAuthor): WebhookEndpoints {
    return new AuditedEndpoints(this, { projects: this.#options.projects, author })
  }

  has(project: string): boolean {
    return this.#byProject.has(project)
  }

  of(project: string): readonly WebhookEndpoint[] {
    return [...(this.#byProject.get(project)?.values() ?? [])]
  }

  all(): readonly WebhookEndpoint[] {
    return [...this.#byProject.values()].flatMap((endpoints) => [...endpoints.values()])
  }

  async create(
    endpoint: Parameters<WebhookEndpoints['create']>[0],
  ): Promise<WebhookEndpoint | undefined> {
    const own = this.#byProject.get(endpoint.project) ?? new Map<string, WebhookEndpoint>()
    if (own.size >= MAX_ENDPOINTS) return undefined
    const created = { ...endpoint, createdAt: this.#options.now(), updatedAt: this.#options.now() }
    own.set(endpoint.id, created)
    this.#byProject.set(endpoint.project, own)
    return created
  }

  async list(project: string): Promise<readonly WebhookEndpoint[]> {
    return this.of(project)
  }

  async find(project: string, id: string): Promise<WebhookEndpoint | undefined> {
    return this.#byProject.get(project)?.get(id)
  }

  async change(
    project: string,
    id: string,
    { url, events }: EndpointChange,
  ): Promise<WebhookEndpoint | undefined> {
    return this.#update(project, id, ({ url: oldUrl, events: oldEvents }) => ({
      url: url ?? oldUrl,
      events: events ?? oldEvents,
    }))
  }

  async rotate(
    project: string,
    id: string,
    { secret, previousForMs }: SecretRotation,
  ): Promise<WebhookEndpoint | undefined> {
    return this.#update(project, id, (old) => ({
      secret,
      previous: { secret: old.secret, until: this.#options.now() + previousForMs },
    }))
  }

  async delete(project: string, id: string): Promise<boolean> {
    const own = this.#byProject.get(project)
    if (own?.delete(id) !== true) return false
    if (own.size === 0) this.#byProject.delete(project)
    this.#options.onDeleted(id)
    return true
  }

  clear(): void {
    this.#byProject.clear()
  }

  #update(
    project: string,
    id: string,
    change: (old: WebhookEndpoint) => Partial<WebhookEndpoint>,
  ): WebhookEndpoint | undefined {
    const own = this.#byProject.get(project)
    const old = own?.get(id)
    if (own === undefined || old === undefined) return undefined
    const changed = { ...old, ...change(old), updatedAt: this.#options.now() }
    own.set(id, changed)
    return changed
  }
}
