import { openConfig, type OpenedConfig } from '../../gateway/config/read/config-file.js'
import { resolveOptions } from '../../gateway/config/resolve/resolve-options.js'
import { ConfigError } from '../../shared/errors.js'
import { exportWriter } from '../../ledger/export-format.js'
import { JournalWriter } from '../../ledger/export-journal.js'
import type { LedgerMaintenance } from '../../ledger/operate/maintenance.js'
import { openMaintenance } from '../../ledger/operate/open-maintenance.js'
import { DAY_MS } from '../../ledger/time-zone.js'
import type { Asset } from '../../shared/money/assets.js'
import { EXIT, type Command, type CliContext } from './command.js'
import { readFlags, UsageError, type CommandLine } from './flags.js'
import { COPY_USAGE, copyLedgerCommand } from './ledger-copy.js'
import { explained, ledgerLocation, withoutDatabase } from './ledger-location.js'
import { Progress } from './progress.js'

const LOCATION = `  --config       the configuration of serve [gateway.config.json]
  --ledger       as for serve [data/ledger.db next to the configuration, or the PostgreSQL of
                 X402_DATABASE_URL or DATABASE_URL]`

const EXPORT_USAGE = `Usage: express-x402-gateway ledger export [--from time] [--to time] [--format csv|jsonl|journal] [--refunds]

  Writes payments, one per line, oldest first. \`units\` are atomic units of the token;
  \`amount\` is the same as a decimal, for well-known tokens and those of the configuration. Reservations
  are left out.

  --from, --to   created at or after, and before; ISO 8601, UTC without a zone, e.g. 2026-01-01 or
                 2026-01-31T12:00:00Z [all payments]
  --format       csv (RFC 4180), jsonl (one JSON object per line), or journal: entries for accounting as
                 CSV, by UTC day and merchant, with refunds and gas [csv]
  --refunds      adds refunds, as lines of type refund; their payer is the merchant

${LOCATION}`

const PRUNE_USAGE = `Usage: express-x402-gateway ledger prune --before time

  Deletes payments that last changed before a time (ISO 8601; UTC without a zone), and prints how many.
  It deletes finished payments only: failed, or settled and delivered, for at least an hour, with an
  authorization that lapsed more than an hour ago. Export them first.

${LOCATION}`

const MIGRATE_USAGE = `Usage: express-x402-gateway ledger migrate [--check]

  Migrates the ledger's tables, as every gateway does when it starts; gateways that start meanwhile wait.
  With --check it changes nothing, lists missing migrations, and exits with 1 if there are any.

${LOCATION}`

const USAGE = [EXPORT_USAGE, PRUNE_USAGE, MIGRATE_USAGE, COPY_USAGE].join('\n\n')

/** How many characters are written at once. */
const CHUNK = 65_536

const COMMON = ['config', 'ledger']

const COMMANDS = new Map([
  ['export', { usage: EXPORT_USAGE, run: exportLedger }],
  ['prune', { usage: PRUNE_USAGE, run: pruneLedger }],
  ['migrate', { usage: MIGRATE_USAGE, run: migrateLedger }],
  ['copy', { usage: COPY_USAGE, run: copyLedgerCommand }],
])

export const ledgerCommand: Command = {
  name: 'ledger',
  summary: 'Exports, prunes, migrates or copies the ledger that serve uses.',
  usage: ([name = '']) => COMMANDS.get(name)?.usage ?? USAGE,
  async run([name, ...flags], context) {
    if (name === undefined) throw new UsageError('A command is missing.')
    const command = COMMANDS.get(name)
    if (command === undefined) throw new UsageError(`There is no command 'ledger ${name}'.`)
    await command.run(flags, context)
    return EXIT.ok
  },
}

async function exportLedger(args: readonly string[], context: CliContext): Promise<void> {
  const flags = readFlags(args, {
    names: ['from', 'to', 'format', ...COMMON],
    switches: ['refunds'],
  })
  const { format = 'csv' } = flags
  if (format !== 'csv' && format !== 'jsonl' && format !== 'journal')
    throw new UsageError(`--format is csv, jsonl or journal, not '${format}'.`)
  const [from, until] = [timeFrom('from', flags['from']), timeFrom('to', flags['to'])]
  if (format === 'journal' && [from, until].some((time = 0) => time % DAY_MS !== 0))
    throw new UsageError(
      'A journal has whole UTC days: --from and --to are dates, like 2026-01-31.',
    )
  const query = {
    from: from ?? 0,
    until: until ?? Number.MAX_SAFE_INTEGER,
    refunds: flags['refunds'] !== undefined || format === 'journal',
  }
  const opened = await openConfig({ ...context, config: flags['config'] })
  const assets = configuredAssets(opened)
  const writer = format === 'journal' ? new JournalWriter(assets) : exportWriter(format, assets)
  await withLedger(context, { flags }, async (ledger) => {
    await requireMigrated(ledger)
    const progress = new Progress(context)
    let count = 0
    let text = writer.head
    for await (const payment of ledger.export(query)) {
      context.signal.throwIfAborted()
      text += writer.line(payment)
      progress.show(++count)
      if (text.length < CHUNK) continue
      await context.write(text)
      text = ''
    }
    if ('end' in writer) text += writer.end(await ledger.gasCounts(query))
    await context.write(text)
    progress.end()
  })
}

async function pruneLedger(args: readonly string[], context: CliContext): Promise<void> {
  const flags = readFlags(args, { names: ['before', ...COMMON] })
  const before = timeFrom('before', flags['before'])
  if (before === undefined) throw new UsageError('--before is missing.')
  await withLedger(context, { flags }, async (ledger) => {
    await requireMigrated(ledger)
    const progress = new Progress(context)
    const count = await ledger.prune(before, (deleted) => {
      progress.show(deleted)
      context.signal.throwIfAborted()
    })
    progress.end()
    context.print(`payments deleted: ${count}`)
  })
}

async function migrateLedger(args: readonly string[], context: CliContext): Promise<void> {
  const flags = readFlags(args, { names: COMMON, switches: ['check'] })
  const isCheck = flags['check'] !== undefined
  await withLedger(context, { flags, create: !isCheck }, async (ledger) => {
    if (isCheck) await requireMigrated(ledger)
    const missing = await ledger.missingMigrations()
    if (missing.length > 0) await ledger.migrate()
    for (const name of missing) context.print(`applied ${name}`)
    context.print('The ledger is up to date.')
  })
}

/** @throws {@link ConfigError} with the migrations that are missing. */
async function requireMigrated(ledger: LedgerMaintenance): Promise<void> {
  const missing = await ledger.missingMigrations()
  if (missing.length === 0) return
  throw new ConfigError(
    'ledger',
    `lacks migrations: ${missing.join(', ')}; run express-x402-gateway ledger migrate`,
    'unusable_ledger',
  )
}

/** Opens the ledger and runs `work`. Error messages do not contain the database's password. */
async function withLedger(
  context: CliContext,
  options: { readonly flags: CommandLine['flags']; readonly create?: boolean },
  work: (ledger: LedgerMaintenance) => Promise<void>,
): Promise<void> {
  const { config, ledger: file } = options.flags
  const opened = await openConfig({ ...context, config })
  const named = ledgerLocation(opened, { ledger: file, cwd: context.cwd })
  const done = explained(named, async () => {
    const ledger = openMaintenance(named.location, options)
    try {
      await work(ledger)
    } finally {
      await ledger.close()
    }
  })
  return done.catch((error: unknown) => {
    if (!context.signal.aborted) throw error
    throw new Error('Interrupted: the work is not finished.', { cause: error })
  })
}

function configuredAssets(opened: OpenedConfig): readonly Asset[] {
  const { file, env } = opened
  if (file === undefined && !env['X402_NETWORK']) return []
  const { networks } = opened.with(resolveOptions, withoutDatabase(env))
  return networks.flatMap(({ assets }) => assets)
}

const TIME = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})?)?$/

function timeFrom(flag: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const [date = '', time = '00:00'] = text.split('T')
  const ms = Date.parse(`${date}T${time}${/Z|[+-]\d{2}:\d{2}$/.test(time) ? '' : 'Z'}`)
  // JavaScript reads 30 February as 2 March.
  const isDate = new Date(`${date}T00:00Z`).getUTCDate() === Number(date.slice(8))
  if (TIME.test(text) && !Number.isNaN(ms) && isDate) return ms
  throw new UsageError(`--${flag} takes a time, like 2026-01-31T12:00:00Z, not '${text}'.`)
}
