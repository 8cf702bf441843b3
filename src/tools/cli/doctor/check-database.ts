import { existsSync } from 'node:fs'
import { access, constants, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { isConfigError } from '../../../shared/errors.js'
import {
  describeDatabase,
  explainFailure,
  failureKind,
} from '../../../ledger/engine/explain-failure.js'
import {
  LedgerInspector,
  type InspectedWebhook,
  type LedgerState,
} from '../../../ledger/operate/inspect-ledger.js'
import type { NamedLedger } from '../ledger-location.js'
import { checkMode } from './check-files.js'
import { caution, fault, sound, type DoctorFinding } from './doctor-finding.js'

/** How far the database's clock may be off this machine's (ms). */
const MAX_SKEW_MS = 10_000

export interface CheckedDatabase {
  readonly findings: readonly DoctorFinding[]
  /** Present if the database can be read; must be closed. */
  readonly inspector?: LedgerInspector | undefined
  readonly webhooks?: readonly InspectedWebhook[]
}

/** Checks a ledger's database without changing it: connection, rights and migrations. */
export async function checkDatabase({ location, option }: NamedLedger): Promise<CheckedDatabase> {
  let inspector: LedgerInspector | undefined
  try {
    if ('file' in location && !existsSync(location.file))
      return { findings: await checkFolder(location.file) }
    const open = 'file' in location ? await checkMode(location.file) : []
    if ('file' in location) await access(location.file, constants.R_OK | constants.W_OK)
    inspector = new LedgerInspector(location)
    const state = await inspector.readState()
    const found = [...open, ...judge(state, describeDatabase(location))]
    if (state.missing.length === 0) {
      const mayRead = state.forbidden.length === 0
      const webhooks = mayRead ? await inspector.readWebhooks(state.now) : []
      const undelivered = mayRead ? await inspector.countUndelivered() : 0
      if (undelivered > 0) {
        const message = `${undelivered} payments are paid, not delivered: refund them, or list their price in earlierPrices.`
        found.push(caution('ledger', 'payments_undelivered', message))
      }
      return { findings: found, inspector, webhooks }
    }
    await inspector.close()
    return { findings: found }
  } catch (error) {
    await inspector?.close()
    if (isConfigError(error)) {
      const issues = error.issues.map(({ code, message }) =>
        fault('ledger', code, `${option}: ${message}`),
      )
      return { findings: issues }
    }
    const message = `${option}: ${explainFailure(failureKind(error), location)}.`
    return { findings: [fault('ledger', 'ledger_unavailable', message)] }
  }
}

function judge(state: LedgerState, name: string): readonly DoctorFinding[] {
  const { missing, unknown, isReadOnly, mayCreate, forbidden } = state
  const found: DoctorFinding[] = []
  if (isReadOnly) {
    const message = `${name} is read-only: connect to the primary, not to a replica.`
    found.push(fault('ledger', 'ledger_read_only', message))
  }
  if (unknown.length > 0) {
    const message = `${name} was migrated by a newer version (${unknown.join(', ')}): update this one.`
    found.push(fault('ledger', 'migration_unknown', message))
  }
  if (missing.length > 0 && !mayCreate) {
    const message = `${name} lacks migrations, and its user may not create tables: GRANT CREATE on the schema, or run ledger migrate as its owner.`
    found.push(fault('ledger', 'ledger_forbidden', message))
  }
  if (forbidden.length > 0) {
    const message = `${name}: the user may not read and write ${forbidden.join(', ')}: GRANT SELECT, INSERT, UPDATE, DELETE on them.`
    found.push(fault('ledger', 'ledger_forbidden', message))
  }
  if (missing.length > 0 && state.isMigrated) {
    const message = `${name} lacks migrations (${missing.join(', ')}): run ledger migrate, or start serve.`
    found.push(caution('ledger', 'migration_missing', message))
  }
  const skew = state.now - Date.now()
  if (Math.abs(skew) > MAX_SKEW_MS) {
    const message = `The clock of ${name} is ${Math.round(skew / 1000)} s off this machine’s: set both by NTP.`
    found.push(caution('ledger', 'clock_skewed', message))
  }
  return found.length > 0 ? found : [sound('ledger', `The ledger is ${name}.`)]
}

async function checkFolder(file: string): Promise<readonly DoctorFinding[]> {
  for (let folder = dirname(file); ; folder = dirname(folder)) {
    if (!existsSync(folder)) continue
    try {
      if ((await stat(folder)).isDirectory()) {
        await access(folder, constants.W_OK | constants.X_OK)
        return [sound('ledger', `The ledger will be ${file}.`)]
      }
      throw Object.assign(new Error('no folder'), { code: 'ENOTDIR' })
    } catch (error) {
      const message = `ledger: ${explainFailure(failureKind(error), { file })}.`
      return [fault('ledger', 'ledger_unavailable', message)]
    }
  }
}
