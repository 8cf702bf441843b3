import type { AuditAction, ChangeAuthor, ProjectStore } from '../projects.js'
import { auditedEndpoint, type WebhookEndpoint, type WebhookEndpoints } from '../webhook-store.js'

/** What an admin changes, and who that is. */
interface Audited {
  readonly projects: Pick<ProjectStore, 'noteAct'>
  readonly author: ChangeAuthor
}

/** Endpoints in memory whose changes are written into the audit log. */
export class AuditedEndpoints implements WebhookEndpoints {
  readonly #endpoints: WebhookEndpoints
  readonly #audited: Audited

  readonly list: WebhookEndpoints['list'] = (project) => this.#endpoints.list(project)
  readonly find: WebhookEndpoints['find'] = (...args) => this.#endpoints.find(...args)
  readonly by: WebhookEndpoints['by'] = (author) => this.#endpoints.by(author)

  constructor(endpoints: WebhookEndpoints, audited: Audited) {
    this.#endpoints = endpoints
    this.#audited = audited
  }

  async create(
    ...args: Parameters<WebhookEndpoints['create']>
  ): Promise<WebhookEndpoint | undefined> {
    const after = await this.#endpoints.create(...args)
    if (after !== undefined) await this.#note('webhook.created', { after })
    return after
  }

  async change(
    ...args: Parameters<WebhookEndpoints['change']>
  ): Promise<WebhookEndpoint | undefined> {
    const [project, id] = args
    const before = await this.#endpoints.find(project, id)
    const after = await this.#endpoints.change(...args)
    if (after !== undefined) await this.#note('webhook.updated', { before, after })
    return after
  }

  async rotate(
    ...args: Parameters<WebhookEndpoints['rotate']>
  ): Promise<WebhookEndpoint | undefined> {
    const after = await this.#endpoints.rotate(...args)
    if (after !== undefined) await this.#note('webhook.secret_rotated', { after })
    return after
  }

  async delete(project: string, id: string): Promise<boolean> {
    const before = await this.#endpoints.find(project, id)
    const isDeleted = await this.#endpoints.delete(project, id)
    if (isDeleted && before !== undefined) await this.#note('webhook.deleted', { before })
    return isDeleted
  }

  async #note(
    action: AuditAction,
    { before, after }: { before?: WebhookEndpoint | undefined; after?: WebhookEndpoint },
  ): Promise<void> {
    const { projects, author } = this.#audited
    const { project = '' } = after ?? before ?? {}
    const [was, is] = [before, after].map((one) => one && auditedEndpoint(one))
    await projects.noteAct({ project, action, before: was, after: is }, author)
  }
}
