import { z } from 'zod'
import {
  ADMIN_ROLES,
  unnamedOwner,
  type Admin,
  type AdminToken,
} from '../../../core/merchants/access.js'
import type { Project } from '../../../core/merchants/project.js'
import { parseConfiguredToken } from '../../../shared/crypto/identify-token.js'
import { durationSchema } from '../../../shared/duration.js'
import { isName, NOT_A_NAME } from '../../../shared/protocol/visible-text.js'
import { instead, mistake, type FieldsOf } from './fields.js'
import type { AdminOptions, AdminPerson } from '../options/admin.js'
import type { GatewayOptions } from '../options.js'
import { TOKEN_FORMS } from './projects.js'
import { readOption, within, type Report } from './report.js'

const adminSchema = z
  .strictObject(
    {
      tokens: z.array(z.string()).min(1).optional(),
      people: z
        .array(
          z.strictObject({
            name: z
              .string()
              .refine((name) => name !== '' && name.trim() === name, {
                ...mistake('invalid_value', 'must not be empty, or begin or end with a space'),
              })
              .refine(isName, { ...mistake('invalid_value', NOT_A_NAME) }),
            role: z.enum(ADMIN_ROLES),
            token: z.string(),
          } satisfies FieldsOf<AdminPerson>),
        )
        .min(1)
        .optional(),
      payToDelay: durationSchema.optional(),
    } satisfies FieldsOf<AdminOptions>,
    instead(
      "must be an object, like { tokens: ['…'] }; make a token with `npx express-x402-gateway token`",
    ),
  )
  .refine(({ tokens, people }) => tokens !== undefined || people !== undefined, {
    path: ['tokens'],
    ...mistake('missing_option', 'is missing: set it or `people`'),
  })

export interface ResolvedAdmin {
  /** None where the admin API is off. */
  readonly adminTokens: readonly AdminToken[]
  /** How long a new `payTo` waits until it counts (ms). */
  readonly payToDelayMs: number
}

export function resolveAdmin(
  { admin }: GatewayOptions,
  projects: readonly Project[],
  report: Report,
): ResolvedAdmin {
  if (admin === undefined) return { adminTokens: [], payToDelayMs: 0 }
  const reportHere = within(report, 'admin')
  const {
    tokens = [],
    people = [],
    payToDelay = 0,
  } = readOption(adminSchema, admin, reportHere) ?? {}
  const taken = new Set(
    projects.flatMap(({ tokenHashes }) => tokenHashes.map((hash) => hash.toString('hex'))),
  )
  const read = (path: string, token: string, who?: Admin): readonly AdminToken[] => {
    const hash = parseConfiguredToken(token)
    if (hash === undefined) reportHere(path, 'invalid_token', TOKEN_FORMS)
    else if (taken.has(hash.toString('hex')))
      reportHere(path, 'duplicate_token', 'is already used here or by a project')
    else taken.add(hash.toString('hex'))
    return hash ? [{ hash, admin: who ?? unnamedOwner(hash) }] : []
  }
  const unnamed = tokens.flatMap((token, index) => read(`tokens.${index}`, token))
  const names = new Set(unnamed.map((one) => one.admin.name))
  const named = people.flatMap(({ token, ...person }, index) => {
    // The audit log and idempotency keys tell people apart by their names.
    if (names.has(person.name))
      reportHere(`people.${index}.name`, 'invalid_value', 'is the name of another person')
    names.add(person.name)
    return read(`people.${index}.token`, token, person)
  })
  return { adminTokens: [...unnamed, ...named], payToDelayMs: payToDelay }
}
