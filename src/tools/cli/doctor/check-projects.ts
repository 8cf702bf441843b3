import { privateKeyToAddress } from 'viem/accounts'
import type { ResolvedOptions } from '../../../gateway/config/resolve/resolve-options.js'
import { findNameProblems } from '../../../shared/protocol/ucp-authority.js'
import { caution, type DoctorFinding } from './doctor-finding.js'

type Merchant = NonNullable<ResolvedOptions['projects'][number]['merchant']>

/**
 * Finds settings that are valid one by one but make no sense together.
 *
 * @param isApp - Whether variables alone configure the gateway. Without a token, they are an app's, whose own
 * routes sell.
 */
export function checkProjects(resolved: ResolvedOptions, isApp: boolean): readonly DoctorFinding[] {
  const { projects } = resolved
  const relayers = new Set(
    resolved.networks.flatMap(({ core }) =>
      (core?.relayerKeys ?? []).map((key) => privateKeyToAddress(key).toLowerCase()),
    ),
  )
  return [
    ...(projects.length === 0
      ? [caution('project', 'project_missing', 'There is no project, so no merchant can be paid.')]
      : []),
    ...projects.flatMap(({ id, tokenHashes, merchant }) => [
      ...(tokenHashes.length === 0 && !isApp ? [withoutToken(id)] : []),
      ...(merchant === undefined ? [] : checkPayTo(merchant, relayers)),
    ]),
    ...checkUcp(resolved),
  ]
}

function withoutToken(id: string): DoctorFinding {
  const message = `Project ${id} has no token, so no shop can use the API. Make one: npx express-x402-gateway token`
  return caution('project', 'project_without_token', message)
}

function checkPayTo(
  { project, payTo }: Merchant,
  relayers: ReadonlySet<string>,
): readonly DoctorFinding[] {
  if (!relayers.has(payTo.toLowerCase())) return []
  const message = `Project ${project} is paid at ${payTo}, a relayer whose key is on this machine: set payTo to another account.`
  return [caution('project', 'pay_to_is_relayer', message)]
}

function checkUcp({ handlerId, docsUrl, publicUrl }: ResolvedOptions): readonly DoctorFinding[] {
  const url = docsUrl ?? publicUrl
  if (url === undefined) return []
  return findNameProblems({ id: handlerId, docsUrl: url }).map((problem) =>
    caution('ucp', 'ucp_authority', problem),
  )
}
