import { isUtf8 } from 'node:buffer'
import { access, constants, open, readFile, writeFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { withEnvFile } from '../../gateway/config/read/env-file.js'
import { privateKey as privateKeySchema } from '../../gateway/config/resolve/fields.js'
import { PAYERS } from '../devnet/accounts.js'
import { isConfigError } from '../../shared/errors.js'
import { isHttpUrl } from '../../shared/http/http-url.js'
import { parsePrice } from '../../shared/money/price.js'
import type { Hex } from '../../shared/protocol/payment.js'
import { visible, visibleLines } from '../../shared/protocol/visible-text.js'
import { EXIT, type Command, type CliContext } from './command.js'
import { readCommandLine, UsageError, type CommandLine } from './flags.js'
import { buy, type Bought } from './pay/buy.js'
import type { Limits } from './pay/choose-offer.js'
import type { PaidRequest } from './pay/http.js'
import { painter } from './style.js'

const USAGE = `Usage: express-x402-gateway pay <url> (--devnet | --key-env name | --key-file file) [--max-amount amount]
         [--method m] [--data text] [--header 'Name: value'] [--output file] [--yes]

  Buys from a URL that takes x402 payments. Prints each step to standard error, and the purchase to
  standard output. If the outcome is unknown it presents the same payment again; it never signs a second.

  --devnet       pays with an account of the local chain
  --key-env      variable with the payer's private key, in the environment or .env
  --key-file     file with the payer's private key
  --max-amount   most it may pay ['$1.00']
  --method       [GET, or POST with --data]
  --data         body of the request
  --header       header of the request; repeatable
  --output       file for the purchase
  --yes          allows real money: networks that are not test networks`

export const payCommand: Command = {
  name: 'pay',
  summary: 'Buys from a URL that takes x402 payments, and prints each step.',
  usage: USAGE,
  async run(args, context) {
    const line = readCommandLine(args, {
      names: ['key-env', 'key-file', 'max-amount', 'method', 'data', 'output'],
      switches: ['devnet', 'yes'],
      lists: ['header'],
    })
    const request = readRequest(line)
    const limits = readLimits(line)
    const privateKey = await readKey(line, context)
    const { output: name } = line.flags
    const output = name === undefined ? undefined : resolve(context.cwd, name)
    if (output !== undefined) await checkWritable(output)
    const paint = painter(context)
    const bought = await buy({
      request,
      limits,
      privateKey,
      signal: context.signal,
      tell: (step) => context.complain(`${paint('faint', '→')} ${step}`),
    })
    await deliver(bought, { output, context })
    return bought.isGood ? EXIT.ok : EXIT.failed
  },
}

const OWN_HEADERS = ['payment-signature', 'x-payment']

function readRequest({ words, flags, lists }: CommandLine): PaidRequest {
  const [url, ...more] = words
  if (url === undefined || more.length > 0 || !isHttpUrl(url))
    throw new UsageError(more.length > 0 ? ONE_URL : explainUrl(url))
  if (new URL(url).username !== '' || new URL(url).password !== '')
    throw new UsageError('The URL contains a password: send it with --header.')
  const headers = Object.fromEntries(
    (lists['header'] ?? []).map((text) => {
      const [, name, value] = /^([\w!#$%&'*+.^`|~-]+):\s*(.*)$/.exec(text) ?? []
      if (name === undefined || value === undefined || OWN_HEADERS.includes(name.toLowerCase()))
        throw new UsageError(`--header takes 'Name: value', and not the payment itself.`)
      return [name.toLowerCase(), value]
    }),
  )
  const { data } = flags
  const method = (flags['method'] ?? (data === undefined ? 'GET' : 'POST')).toUpperCase()
  if (!/^[A-Z]{1,20}$/.test(method)) throw new UsageError('--method takes a word.')
  if (data !== undefined && ['GET', 'HEAD'].includes(method))
    throw new UsageError(`--data and ${method} exclude each other.`)
  const type = data === undefined ? {} : { 'content-type': 'application/json' }
  return { url: new URL(url).href, method, headers: { ...type, ...headers }, data }
}

const ONE_URL = 'One http(s) URL is expected.'

/** Hosts of this machine. Their URLs are http if they name no scheme. */
const LOCAL = /^(localhost|127\.0\.0\.1|\[::1\])$/

/** Explains a mistake in the URL, and suggests the scheme if only that is missing. */
function explainUrl(text: string | undefined): string {
  const meant = `http://${text}`
  if (text === undefined || text.includes('://') || !isHttpUrl(meant)) return ONE_URL
  const { hostname, username, password } = new URL(meant)
  // Never repeats a password.
  if (username !== '' || password !== '') return ONE_URL
  const scheme = LOCAL.test(hostname) ? 'http' : 'https'
  return `'${text}' is not a URL: write ${scheme}://${text}.`
}

const SINGLE_QUOTES = "A shell replaces $0 and $1: put the amount into single quotes, like '$0.05'."

/** Whether a shell has replaced `$0` by its own name, or `$1` by nothing. */
const isExpanded = (text: string): boolean => /^(?:\S*sh)?\.\d+$/.test(text)

function readLimits({ flags }: CommandLine): Limits {
  const rest = {
    mayPayMainnet: flags['yes'] !== undefined,
    isPublicKey: flags['devnet'] !== undefined,
  }
  try {
    const maxAmount = parsePrice(flags['max-amount'] ?? '$1.00', { defaultCurrency: 'USD' })
    if (maxAmount.kind === 'fiat') return { ...rest, maxAmount }
  } catch (error) {
    if (!isConfigError(error)) throw error
    const hint = isExpanded(flags['max-amount'] ?? '') ? `. ${SINGLE_QUOTES}` : ''
    throw new UsageError(`--max-amount: ${error.issues[0]?.message}${hint}`)
  }
  throw new UsageError("--max-amount takes an amount like '$1.00' or '1.00 EUR'.")
}

/** Reads the key. It is never an argument, which other users of the machine could see. */
async function readKey({ flags }: CommandLine, { env, cwd }: CliContext): Promise<Hex> {
  const { 'key-env': variable, 'key-file': file, devnet } = flags
  const { length } = [variable, file, devnet].filter((one) => one !== undefined)
  if (length > 1) throw new UsageError('Give only one of --devnet, --key-env and --key-file.')
  if (length === 0)
    throw new UsageError('Who pays? Give one of --devnet, --key-env and --key-file.')
  if (devnet !== undefined) return PAYERS[0]!.privateKey
  const text =
    variable === undefined
      ? await readKeyFile(resolve(cwd, file ?? ''))
      : (await withEnvFile(cwd, env)).env[variable]
  // A key in its place is not repeated.
  if (variable !== undefined && !/^[A-Za-z_]\w*$/.test(variable))
    throw new UsageError('--key-env takes the name of a variable, not the key itself.')
  const source = variable === undefined ? 'The file of --key-file' : `The variable ${variable}`
  if (!text?.trim())
    throw new Error(
      variable === undefined
        ? `${source} is empty.`
        : `${source} is not set, neither in the environment nor in a .env in this folder.`,
    )
  const parsed = privateKeySchema.safeParse(text.trim())
  if (parsed.success) return parsed.data
  throw new Error(`${source} ${parsed.error.issues[0]?.message}.`)
}

async function readKeyFile(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException
    throw new Error(`The file of --key-file cannot be read: ${path} (${code}).`, { cause: error })
  }
}

/** Checks before anything is paid that there is a place for the purchase. */
async function checkWritable(path: string): Promise<void> {
  const existing = open(path, 'r+').then((file) => file.close())
  const checked = existing.catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
    return access(dirname(path), constants.W_OK)
  })
  await checked.catch((error: NodeJS.ErrnoException) => {
    const { code = 'unknown' } = error
    const message = `The file of --output cannot be written: ${path} (${code}). Nothing was bought. Name another file.`
    throw new Error(message, { cause: error })
  })
}

async function deliver(
  { answer: { body, headers } }: Bought,
  { output, context }: { readonly output: string | undefined; readonly context: CliContext },
): Promise<void> {
  if (output !== undefined) {
    await writeFile(output, body)
    return context.complain(`Written: ${output} (${body.length} bytes)`)
  }
  const type = headers.get('content-type')
  const isText =
    type === null
      ? isUtf8(body) && !body.includes(0)
      : /^(text\/|application\/([\w.-]+\+)?(json|xml|javascript))/.test(type)
  if (isText) {
    const text = body.toString('utf8').replace(/\n?$/, '\n')
    // A terminal would obey the seller's control characters. Files and programs get the bytes as they are.
    await context.write(context.isRedirected ? text : visibleLines(text))
  } else if (body.length > 0)
    context.complain(
      `${body.length} bytes of ${visible(type ?? 'binary data')}. Save them with --output.`,
    )
}
