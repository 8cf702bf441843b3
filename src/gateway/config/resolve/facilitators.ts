import { z } from 'zod'
import type { Facilitator, NetworkFacilitator } from '../../../core/facilitator/facilitator.js'
import type { OnNetworks } from '../../../core/facilitator/facilitator.js'
import type { Share } from '../../../core/facilitator/facilitator-share.js'
import { membersOf } from '../../../shared/protocol/document.js'
import { findNetwork, sameNetwork } from '../../../shared/protocol/networks.js'
import { hasMethod, missing, type FieldsOf } from './fields.js'
import { within, type Report } from './report.js'

const SHAPE =
  'must be httpFacilitator({ url }), an object with the methods verify, settle, supported, or a list like [{ facilitator, networks }]'

const one = z.custom<Facilitator>(
  (value) => ['verify', 'settle', 'supported'].every((name) => hasMethod(value, name)),
  'must be httpFacilitator({ url }), or an object with the methods verify, settle, supported',
)

const named = z.strictObject({
  facilitator: one,
  networks: z
    .array(z.string(), { error: missing("the networks that it settles on, like ['base']") })
    .min(1),
  share: z
    .custom<NonNullable<NetworkFacilitator['share']>>(
      (value) => typeof value === 'string' && /^1 in [1-9]\d{0,8}$/.test(value),
      "must say one in how many, like '1 in 100'",
    )
    .transform((share) => Number(share.slice('1 in '.length)))
    .optional(),
} satisfies FieldsOf<NetworkFacilitator>)

export const facilitatorSchema = z.union([one, z.array(named).min(1)], { error: SHAPE }).optional()

export interface ResolvedFacilitator extends OnNetworks {
  readonly facilitator: Facilitator
}

/** Finds the networks that a list names. */
export function resolveFacilitators(
  given: z.output<typeof facilitatorSchema>,
  networks: readonly string[],
  report: Report,
): { readonly facilitators: readonly ResolvedFacilitator[]; readonly shares: readonly Share[] } {
  if (given === undefined) return { facilitators: [], shares: [] }
  if (!Array.isArray(given)) return { facilitators: [{ facilitator: given }], shares: [] }
  const taken = new Set<string>()
  const found = given.map(({ networks: names, ...entry }, index) => {
    const own = names.map((name, at) => {
      const reportHere = within(report, `facilitator.${index}.networks.${at}`)
      const caip2 = findNetwork(name)?.caip2 ?? ''
      if (!networks.some((offered) => sameNetwork(offered, name)))
        reportHere('', 'unknown_network', 'is none of the networks of this gateway: see `networks`')
      if (taken.has(caip2)) reportHere('', 'duplicate_network', 'has a facilitator already')
      taken.add(caip2)
      return caip2
    })
    return { ...entry, networks: own }
  })
  return {
    facilitators: found.filter(({ share }) => share === undefined),
    shares: found.flatMap(({ facilitator, share: oneIn, networks: own }) =>
      oneIn === undefined ? [] : own.map((network) => ({ facilitator, network, oneIn })),
    ),
  }
}

/** Whether a facilitator elsewhere settles on a network, by the options as they were given. */
export function isElsewhere(given: unknown, network: string): boolean {
  if (!Array.isArray(given)) return given !== undefined
  return given.some((entry: unknown) => {
    const { networks: names, share } = membersOf(entry)
    const isAll = share === undefined && Array.isArray(names)
    return isAll && names.some((name) => sameNetwork(String(name), network))
  })
}
