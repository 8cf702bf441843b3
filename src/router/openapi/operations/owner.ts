/** Routes that projects have, and operators as well: what differs between the two. */
import type { ProblemCode } from '../../../http/problem-status.js'
import { OF_ADMIN, OF_MERCHANT } from '../problems.js'
import type { Access, Operation, Parameter } from '../operation.js'

/** Who owns what the operations are about. */
export interface Owner {
  /** What the paths begin with. */
  readonly prefix: string
  readonly access: Access
  /** Problems of each operation. */
  readonly problems: readonly ProblemCode[]
  /** Makes ids of operations unique: `listWebhooks`, `adminListWebhooks`. */
  readonly idOf: (id: string) => string
  /** Parameters that say whose. */
  readonly query: readonly Parameter[]
}

/** A project, with its own token. */
export const MERCHANT: Owner = {
  prefix: '/api/v2/merchant',
  access: 'merchant',
  problems: OF_MERCHANT,
  idOf: (id) => id,
  query: [],
}

/** An operator, for all projects. */
export const ADMIN: Owner = {
  prefix: '/api/v2/admin',
  access: 'admin',
  problems: OF_ADMIN,
  idOf: (id) => `admin${id.charAt(0).toUpperCase()}${id.slice(1)}`,
  query: [
    {
      name: 'project',
      description: 'Id of the project. Without it, those of all projects are meant.',
      schema: { type: 'string', minLength: 1, maxLength: 200 },
    },
  ],
}

/** What every operation of an owner has. */
export function commonOf({ access, problems, idOf }: Owner, id: string) {
  return { id: idOf(id), access, problems } satisfies Partial<Operation>
}
