import type { ResolvedFacilitator } from '../config/resolve/facilitators.js'
import type { ResolvedOptions } from '../config/resolve/resolve-options.js'
import { byNetwork } from '../../core/facilitator/by-network.js'
import type { CallersElsewhere } from '../../core/facilitator/remote-callers.js'
import { createRemoteFacilitator } from '../../core/facilitator/remote-facilitator.js'
import type { Scheme } from '../../core/schemes/scheme.js'
import { watchScheme } from '../../operate/telemetry/watch-payments.js'
import type { Core, CoreParts } from './core.js'

/** Wires the core of a gateway whose payments facilitators elsewhere verify and settle, all or some of them. */
export async function openRemoteCore(
  resolved: ResolvedOptions,
  elsewhere: readonly (ResolvedFacilitator & CallersElsewhere)[],
  parts: CoreParts,
): Promise<Core> {
  const { logger, now, beforeVerify, beforeSettle } = resolved
  const watchers = [parts.recent, ...parts.telemetry.watchers]
  const watch = (scheme: Scheme) => watchScheme(scheme, watchers)
  const shared = { ...parts, beforeVerify, beforeSettle, logger, now, watch }
  const remotes = elsewhere.map(({ networks, ...one }) => {
    const facilitator = createRemoteFacilitator({ ...shared, ...one })
    return { networks, facilitator }
  })
  const ofAll = remotes.find(({ networks }) => networks === undefined)
  if (ofAll !== undefined) return { facilitator: ofAll.facilitator, cores: [] }
  const { openCore } = await import('./core.js')
  const { facilitator, cores } = openCore(resolved, parts)
  return { facilitator: byNetwork(remotes, facilitator), cores }
}
