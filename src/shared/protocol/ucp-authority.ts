/** Name and location of a handler. */
export interface HandlerSite {
  /** Reverse-domain name, also the `id` of the handler's entries. */
  readonly id: string
  /** Root URL of `/ucp/…`. */
  readonly docsUrl: string
}

/** Names in UCP before 2026-08-25: no hyphens, and no digits at the start of a label. */
const STRICT_NAME = /^[a-z][a-z0-9]*(\.[a-z][a-z0-9_]*)+$/

/**
 * Finds reasons why platforms would refuse a handler's name.
 *
 * Since UCP 2026-08-25 the owner of a domain owns the handler names that begin with it: the schema's host,
 * with its labels reversed, must be the name or a prefix of it. `vendor.xyz` may publish
 * `xyz.vendor.gateway_payment`. Local hosts are not checked, because no platform can reach them.
 *
 * @returns One sentence per problem, with its remedy.
 */
export function findNameProblems({ id, docsUrl }: HandlerSite): readonly string[] {
  const { protocol, hostname } = new URL(docsUrl)
  if (isLocal(hostname)) return []
  const problems: string[] = []
  if (!STRICT_NAME.test(id))
    problems.push(
      `UCP before 2026-08-25 refuses the name '${id}': choose a handlerId without hyphens, and without digits after a point.`,
    )
  if (protocol !== 'https:')
    problems.push('Platforms fetch the documents of a handler over https only: set ucp.docsUrl.')
  if (!isPublishedBy(id, hostname))
    problems.push(
      `Platforms refuse the handler '${id}', whose documents are on ${hostname}: set handlerId to a name that begins with '${reverse(hostname)}.', or ucp.docsUrl to the domain in the name.`,
    )
  return problems
}

function isPublishedBy(name: string, hostname: string): boolean {
  const authority = reverse(hostname)
  return name === authority || name.startsWith(`${authority}.`)
}

function reverse(hostname: string): string {
  return hostname.toLowerCase().replace(/\.$/, '').split('.').toReversed().join('.')
}

/** Hosts that are not registered domain names: IP addresses, single labels, `*.localhost`. */
function isLocal(hostname: string): boolean {
  const labels = hostname.replace(/\.$/, '').split('.')
  const last = labels.at(-1) ?? ''
  return labels.length === 1 || last === 'localhost' || /^\d|\]$/.test(last)
}
