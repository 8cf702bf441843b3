import { EXIT, type Command, type CliContext } from './command.js'
import { checkPublic } from './doctor/check-public.js'
import type { DoctorFinding } from './doctor/doctor-finding.js'
import { examine } from './doctor/examine.js'
import { readFlags, UsageError, type CommandLine } from './flags.js'
import { counted, painter } from './style.js'
import { isPublicUrl } from '../../shared/http/http-url.js'
import { visible, visibleLines } from '../../shared/protocol/visible-text.js'

const USAGE = `Usage: express-x402-gateway doctor [--config file] [--ledger file] [--json]
       express-x402-gateway doctor --public url [--json]

  Checks the gateway that serve would run, and says how to fix what it finds: configuration, files,
  nodes, tokens on chain, relayers, rates, clocks, the ledger's database, Redis, webhooks, the public URL and
  the UCP handler. Changes nothing. Exits with 1 if something does not work.

  With --public, checks from outside what catalogues and buyers refuse: HTTPS, the 402 and its offers, tokens,
  schemas, CORS. Asks by GET, or by POST where there is no GET. Reads no configuration, and never pays.

  --config   the configuration [gateway.config.json]
  --ledger   as for serve
  --public   the URL of a paid route, or of a site: all routes that its /.well-known/x402 lists (at most 50)
  --json     prints all findings as one JSON document`

/** Longest finding that is printed: it may quote a node. */
const MAX_MESSAGE = 2000

export const doctorCommand: Command = {
  name: 'doctor',
  summary: 'Checks a configuration and everything around it, and says how to fix it.',
  usage: USAGE,
  async run(args, context) {
    const flags = readFlags(args, { names: ['config', 'ledger', 'public'], switches: ['json'] })
    const found = await examineBy(flags, context)
    context.showProgress?.('')
    const isSound = found.every(({ status }) => status !== 'error')
    if (flags['json'] === undefined) printProblems(found, context)
    else context.print(visibleLines(JSON.stringify({ ok: isSound, findings: found }, undefined, 2)))
    return isSound ? EXIT.ok : EXIT.failed
  },
}

async function examineBy(
  { config, ledger, public: publicUrl }: CommandLine['flags'],
  context: CliContext,
): Promise<readonly DoctorFinding[]> {
  if (publicUrl === undefined) {
    context.showProgress?.('Checking configuration, database and networks …')
    return examine({ ...context, config, ledger })
  }
  if (config !== undefined || ledger !== undefined)
    throw new UsageError('--public excludes --config and --ledger: it reads no configuration.')
  // A password in it is not repeated.
  if (!isPublicUrl(publicUrl))
    throw new UsageError(
      '--public takes a URL like https://shop.example/report, without a password.',
    )
  return checkPublic(new URL(publicUrl), context)
}

function printProblems(found: readonly DoctorFinding[], context: CliContext): void {
  const paint = painter(context)
  const errors = found.filter(({ status }) => status === 'error')
  const warnings = found.filter(({ status }) => status === 'warning')
  for (const { code, message } of errors)
    context.print(`${paint('bad', 'error')}    ${code}: ${visible(message, MAX_MESSAGE)}`)
  for (const { code, message } of warnings)
    context.print(`${paint('odd', 'warning')}  ${code}: ${visible(message, MAX_MESSAGE)}`)
  const passed = found.filter(({ status }) => status === 'ok')
  const subjects = [...new Set(passed.map(({ subject }) => subject))].join(', ')
  const summary = `${counted(passed.length, 'check')} passed${subjects && `: ${subjects}`}.`
  const isSound = errors.length + warnings.length === 0
  // How long the gas money lasts is worth a line in any case.
  for (const { subject, message } of passed)
    if (isSound || subject === 'relayer') context.print(`ok       ${visible(message, MAX_MESSAGE)}`)
  if (!isSound) {
    const problems = `${counted(errors.length, 'error')}, ${counted(warnings.length, 'warning')}.`
    return context.print(passed.length > 0 ? `${problems} ${summary}` : problems)
  }
  context.print(paint('good', summary))
}
