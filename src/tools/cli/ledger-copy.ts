import { openConfig } from '../../gateway/config/read/config-file.js'
import { ConfigError, isConfigError } from '../../shared/errors.js'
import { describeDatabase, failureKind } from '../../ledger/engine/explain-failure.js'
import type { LedgerCopy } from '../../ledger/operate/copy-ledger.js'
import type { LedgerMaintenance } from '../../ledger/operate/maintenance.js'
import { openMaintenance } from '../../ledger/operate/open-maintenance.js'
import type { CliContext } from './command.js'
import { readFlags, UsageError } from './flags.js'
import { explained, ledgerLocation, locationOf, type NamedLedger } from './ledger-location.js'
import { Progress } from './progress.js'
import { counted } from './style.js'

export const COPY_USAGE = `Usage: express-x402-gateway ledger copy --from ledger [--to ledger]

  Copies a ledger into an empty database: payments, projects, tokens, webhooks, secrets and statistics.
  Console sessions are left out. Stop all gateways of the source first.

  It compares the payments of both ledgers one by one. A copy that is interrupted leaves the target
  empty; the source is never changed.

  --from, --to   a file or a postgres:// URL [--to: the ledger that serve uses]
  --config       the configuration of serve [gateway.config.json]`

export async function copyLedgerCommand(
  args: readonly string[],
  context: CliContext,
): Promise<void> {
  const flags = readFlags(args, { names: ['from', 'to', 'config'] })
  const { from, to } = flags
  if (from === undefined) throw new UsageError('--from is missing.')
  const opened = await openConfig({ ...context, config: flags['config'] })
  const { cwd } = context
  const source = { option: '--from', location: locationOf('--from', from, cwd) }
  const target =
    to === undefined
      ? ledgerLocation(opened, { cwd })
      : { option: '--to', location: locationOf('--to', to, cwd) }
  if (JSON.stringify(source.location) === JSON.stringify(target.location))
    throw new UsageError('--from and --to name the same ledger.')
  const ours = await explained(source, () => openMaintenance(source.location))
  try {
    if ((await explained(source, () => ours.missingMigrations())).length > 0)
      throw new ConfigError(
        source.option,
        `${describeDatabase(source.location)} is no ledger of this version: start this version on it once, or run ledger migrate`,
        'unusable_ledger',
      )
    const theirs = await explained(target, () => openMaintenance(target.location, { create: true }))
    try {
      await explained(target, async () => {
        if ((await theirs.missingMigrations()).length > 0) await theirs.migrate()
      })
      const copied = await copy(ours, theirs, context).catch((error: unknown) => {
        throw isConfigError(error) ? located(error, { from: source, to: target }) : error
      })
      for (const line of linesOf(copied)) context.print(line)
      context.print(`Start gateways on ${describeDatabase(target.location)}.`)
    } finally {
      await theirs.close()
    }
  } finally {
    await ours.close()
  }
}

/** Names the flags and the databases of mistakes in a copy. */
function located(
  { issues }: ConfigError,
  ledgers: Readonly<Record<string, NamedLedger>>,
): ConfigError {
  return new ConfigError(
    issues.map((issue) => {
      const { option, location } = ledgers[issue.option]!
      return { ...issue, option, message: `${describeDatabase(location)} ${issue.message}` }
    }),
  )
}

async function copy(
  source: LedgerMaintenance,
  target: LedgerMaintenance,
  context: CliContext,
): Promise<LedgerCopy> {
  const { signal } = context
  try {
    const progress = new Progress(context)
    const onCopied = (count: number): void => progress.show(count)
    const copied = await source.copyTo(target, { signal, onCopied })
    progress.end()
    return copied
  } catch (error) {
    if (isConfigError(error) || error instanceof TypeError) throw error
    const why = signal.aborted ? '' : ` by a failure of a database (${failureKind(error)})`
    throw new Error(`Interrupted${why}: nothing was copied. Run the command again.`, {
      cause: error,
    })
  }
}

const linesOf = ({ payments, projects, tokens, webhooks, settled }: LedgerCopy) => [
  `copied: ${[
    counted(payments, 'payment or refund', 'payments and refunds'),
    counted(projects, 'project'),
    counted(tokens, 'token'),
    counted(webhooks, 'webhook'),
  ].join(', ')}`,
  ...settled.map(
    ({ chainId, asset, payments: count, value }) =>
      `settled in eip155:${chainId} ${asset}: ${counted(count, 'payment')}, ${value} atomic units`,
  ),
]
