import { openConfig } from '../../gateway/config/read/config-file.js'
import { ConfigError, isConfigError } from '../../shared/errors.js'
import { describeDatabase, failureKind } from '../../ledger/engine/explain-failure.js'
import type { LedgerLocation } from '../../ledger/engine/location.js'
import type { LedgerCopy } from '../../ledger/operate/copy-ledger.js'
import type { LedgerMaintenance } from '../../ledger/operate/maintenance.js'
import { openMaintenance } from '../../ledger/operate/open-maintenance.js'
import { EXIT, type ExitCode } from './command.js'
import type { CliContext } from './context.js'
import { readFlags, UsageError } from './flags.js'
import { explained, ledgerLocation, locationOf } from './ledger-location.js'
import { Progress } from './progress.js'

export const COPY_USAGE = `Usage: express-x402-gateway ledger copy --from ledger [--to ledger] [--last]

  Copies a ledger into an empty database: payments, projects, tokens, webhooks, secrets and statistics.
  Console sessions are left out. Gateways may keep using the source meanwhile.

  Then stop all gateways of the source and run the same command again with --last: it copies the changes,
  compares all payments, and reports that the copy is complete. Only then does a gateway start on it. An
  interrupted copy resumes. The source is never changed.

  --from, --to   a file or a postgres:// URL [--to: the ledger that serve uses]
  --last         no gateway uses the source any more
  --config       the configuration of serve [gateway.config.json]`

/** `ledger copy`. @returns The exit code: 1 if the source has changed meanwhile. */
export async function copyLedgerCommand(
  args: readonly string[],
  context: CliContext,
): Promise<ExitCode> {
  const flags = readFlags(args, {
    names: ['from', 'to', 'config'],
    switches: ['last'],
    usage: COPY_USAGE,
  })
  const { from, to } = flags
  const isLast = flags['last'] !== undefined
  if (from === undefined) throw new UsageError('--from is missing.', COPY_USAGE)
  const opened = await openConfig({ ...context, config: flags['config'] })
  const { cwd } = context
  const source = { option: 'from', location: locationOf('from', from, cwd) }
  const target =
    to === undefined
      ? ledgerLocation(opened, { cwd })
      : { option: 'to', location: locationOf('to', to, cwd) }
  if (JSON.stringify(source.location) === JSON.stringify(target.location))
    throw new UsageError('--from and --to name the same ledger.', COPY_USAGE)
  const ours = await explained(source, () => openMaintenance(source.location))
  try {
    if ((await explained(source, () => ours.missingMigrations())).length > 0)
      throw new ConfigError(
        'from',
        'is no ledger of this version: start this version on it once, or run ledger migrate',
        'unusable_ledger',
      )
    const theirs = await explained(target, () => openMaintenance(target.location, { create: true }))
    try {
      await explained(target, async () => {
        if ((await theirs.missingMigrations()).length > 0) await theirs.migrate()
      })
      const copied = await copy(ours, theirs, { context, isLast })
      return report(copied, { target: target.location, isLast, context })
    } finally {
      await theirs.close()
    }
  } finally {
    await ours.close()
  }
}

async function copy(
  source: LedgerMaintenance,
  target: LedgerMaintenance,
  { context, isLast }: { readonly context: CliContext; readonly isLast: boolean },
): Promise<LedgerCopy> {
  const { signal, showProgress } = context
  try {
    const everything = { from: 0, until: Number.MAX_SAFE_INTEGER, refunds: true }
    const progress = new Progress(context, showProgress && (await source.count(everything)))
    const onRead = (count: number): void => progress.show(count)
    const copied = await source.copyTo(target, { signal, isLast, onRead })
    progress.end()
    return copied
  } catch (error) {
    if (isConfigError(error) || error instanceof TypeError) throw error
    const why = signal.aborted ? '' : ` by a failure of a database (${failureKind(error)})`
    throw new Error(`Interrupted${why}. Run the command again to go on.`, { cause: error })
  }
}

interface Reported {
  readonly target: LedgerLocation
  readonly isLast: boolean
  readonly context: CliContext
}

function report(
  { payments, projects, tokens, webhooks, settled, isComplete }: LedgerCopy,
  { target, isLast, context: { print, complain } }: Reported,
): ExitCode {
  print(
    `copied: ${payments} payments and refunds, ${projects} projects, ${tokens} tokens, ${webhooks} webhooks`,
  )
  for (const sum of settled)
    print(
      `settled in eip155:${sum.chainId} ${sum.asset}: ${sum.payments} payments, ${sum.value} atomic units`,
    )
  if (isComplete) {
    print(`The copy is complete. Start gateways on ${describeDatabase(target)}.`)
    return EXIT.ok
  }
  if (!isLast) {
    print('Now stop every gateway of the source, and run this command again with --last.')
    return EXIT.ok
  }
  complain(
    'The source was changed meanwhile: a gateway still uses it. Stop it, and run this again.',
  )
  return EXIT.failed
}
