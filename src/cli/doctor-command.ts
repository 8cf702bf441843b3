import { EXIT, type Command } from './command.js'
import type { CliContext } from './context.js'
import type { DoctorFinding } from './doctor/doctor-finding.js'
import { examine } from './doctor/examine.js'
import { readFlags } from './flags.js'
import { painter } from './style.js'
import { visible, visibleLines } from '../protocol/visible-text.js'

const USAGE = `Usage: express-x402-gateway doctor [--config file] [--ledger file] [--json]

  Looks for what is wrong with the gateway that serve would run, and says what to do: configuration,
  files, DNS, certificates, nodes, tokens on chain, relayers, rates, clocks, the ledger's database, webhooks,
  the public URL and the UCP handler. Changes nothing. Exits with 1 if something does not work.

  --config   the configuration [gateway.config.json]
  --ledger   as for serve
  --json     prints everything that was found as one JSON document`

/** Characters of a finding that are printed: it may quote a node. */
const MAX_MESSAGE = 2000

/** `doctor`: finds what is wrong. */
export const doctorCommand: Command = {
  name: 'doctor',
  summary: 'Finds what is wrong with a configuration and everything around it.',
  usage: USAGE,
  async run(args, context) {
    const flags = readFlags(args, {
      names: ['config', 'ledger'],
      switches: ['json'],
      usage: USAGE,
    })
    context.showProgress?.('Looking at configuration, database and networks …')
    const { config, ledger } = flags
    const found = await examine({ ...context, config, ledger })
    context.showProgress?.('')
    const isSound = found.every(({ status }) => status !== 'error')
    if (flags['json'] === undefined) printProblems(found, context)
    else context.print(visibleLines(JSON.stringify({ ok: isSound, findings: found }, undefined, 2)))
    return isSound ? EXIT.ok : EXIT.failed
  },
}

function printProblems(found: readonly DoctorFinding[], context: CliContext): void {
  const paint = painter(context)
  const errors = found.filter(({ status }) => status === 'error')
  const warnings = found.filter(({ status }) => status === 'warning')
  for (const { code, message } of errors)
    context.print(`${paint('bad', 'error')}    ${code}: ${visible(message, MAX_MESSAGE)}`)
  for (const { code, message } of warnings)
    context.print(`${paint('odd', 'warning')}  ${code}: ${visible(message, MAX_MESSAGE)}`)
  if (errors.length + warnings.length === 0) context.print(paint('good', 'All is well.'))
  else context.print(`${count(errors, 'error')}, ${count(warnings, 'warning')}.`)
}

function count({ length }: readonly unknown[], what: string): string {
  return `${length} ${what}${length === 1 ? '' : 's'}`
}
