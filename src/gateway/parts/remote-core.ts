import type { ResolvedOptions } from '../config/resolve/resolve-options.js'
import type { Facilitator } from '../../core/facilitator/facilitator.js'
import { createRemoteFacilitator } from '../../core/facilitator/remote-facilitator.js'
import type { Scheme } from '../../core/schemes/scheme.js'
import { watchScheme } from '../../operate/telemetry/watch-payments.js'
import type { Core, CoreParts } from './core.js'

/** Wires the core of a gateway whose payments a facilitator elsewhere verifies and settles. */
export function openRemoteCore(
  { logger, now, beforeVerify, beforeSettle }: ResolvedOptions,
  facilitator: Facilitator,
  parts: CoreParts,
): Core {
  const watchers = [parts.recent, ...parts.telemetry.watchers]
  const watch = (scheme: Scheme) => watchScheme(scheme, watchers)
  const hooks = { beforeVerify, beforeSettle }
  const remote = { ...parts, ...hooks, logger, now, facilitator, watch }
  return { facilitator: createRemoteFacilitator(remote), cores: [] }
}
