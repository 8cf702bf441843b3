import { z } from 'zod'
import { parseConfiguredToken, type Project } from '../../merchants/project.js'
import type { FieldsOf } from './fields.js'
import type { AdminOptions, GatewayOptions } from '../options.js'
import { TOKEN_FORMS } from './projects.js'
import { readOption, within, type Report } from './report.js'

const adminSchema = z.strictObject({
  tokens: z.array(z.string()).min(1),
} satisfies FieldsOf<AdminOptions>)

/**
 * Resolves the tokens of the admin API.
 *
 * @returns SHA-256 of each; none where the admin API is off.
 */
export function resolveAdmin(
  { admin }: GatewayOptions,
  projects: readonly Project[],
  report: Report,
): readonly Buffer[] {
  if (admin === undefined) return []
  const reportHere = within(report, 'admin')
  const taken = new Set(
    projects.flatMap(({ tokenHashes }) => tokenHashes.map((hash) => hash.toString('hex'))),
  )
  const { tokens } = readOption(adminSchema, admin, reportHere) ?? { tokens: [] }
  return tokens.flatMap((token, index) => {
    const hash = parseConfiguredToken(token)
    if (hash === undefined) reportHere(`tokens.${index}`, 'invalid_token', TOKEN_FORMS)
    else if (taken.has(hash.toString('hex')))
      reportHere(`tokens.${index}`, 'duplicate_token', 'is there already, or is a project’s')
    else taken.add(hash.toString('hex'))
    return hash ? [hash] : []
  })
}
