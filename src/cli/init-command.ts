import { join, resolve } from 'node:path'
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts'
import { DEFAULT_FILE } from '../config/read/config-file.js'
import { ENV_FILE } from '../config/read/env-file.js'
import { createToken } from '../merchants/project.js'
import { findNetwork, gasTokenOf } from '../protocol/networks.js'
import { EXIT, type Command } from './command.js'
import type { CliContext } from './context.js'
import { portFrom, readFlags, UsageError, type CommandLine } from './flags.js'
import { problemWith, QUESTIONS, type Answers, type Question } from './init/answers.js'
import { configText, envText } from './init/template.js'
import { ignoreFiles } from './init/ignore-files.js'
import { writeNew } from './init/write-new.js'
import { painter } from './style.js'

const USAGE = `Usage: express-x402-gateway init [--yes] [--pay-to address] [--network name] [--rpc-url url]
         [--currency code] [--public-url url] [--port n] [--dir folder] [--force]

  Writes gateway.config.json, with comments, and .env with the key of a new relayer. Only you can read
  .env, and it is added to .gitignore. On a terminal it asks for missing flags; with --yes it takes
  defaults. The identify token of the project is printed once, to standard output.

  --pay-to       wallet address where payments arrive
  --network      short name or eip155:<chain id> [base-sepolia]
  --rpc-url      URL of a JSON-RPC node [a public one, for base and base-sepolia]
  --currency     currency of prices, ISO 4217 [USD]
  --public-url   public URL of the gateway [taken from each request]
  --port         port that the printed command listens on [4402]
  --dir          folder for the files [.]
  --force        moves existing files aside`

export const initCommand: Command = {
  name: 'init',
  summary: 'Writes a configuration, with a new relayer key and a token.',
  usage: USAGE,
  async run(args, context) {
    const flags = readFlags(args, {
      names: [...QUESTIONS.map(({ flag }) => flag), 'port', 'dir'],
      switches: ['yes', 'force'],
      usage: USAGE,
    })
    const port = portFrom(flags['port'])
    const answers = await readAnswers(flags, context)
    const key = generatePrivateKey()
    const relayer = privateKeyToAddress(key)
    const token = createToken()
    const folder = resolve(context.cwd, flags['dir'] ?? '.')
    const config = join(folder, DEFAULT_FILE)
    const env = join(folder, ENV_FILE)
    const moved = await writeNew(
      [
        // The key is written first: a configuration without its key would be useless.
        { path: env, text: envText({ ...answers, key }), mode: 0o600 },
        { path: config, text: configText({ ...answers, relayer, token }), mode: 0o644 },
      ],
      { force: flags['force'] !== undefined },
    )
    const ignored = await ignoreFiles(folder, [ENV_FILE, `${ENV_FILE}.old-*`])
    explain(context, { answers, relayer, token, port, files: { config, env, moved, ignored } })
    return EXIT.ok
  },
}

/** Takes answers from flags, the terminal, or defaults. */
async function readAnswers(flags: CommandLine['flags'], context: CliContext): Promise<Answers> {
  const ask = flags['yes'] === undefined ? context.ask : undefined
  let given: Partial<Answers> = {}
  for (const question of QUESTIONS) {
    const { name, flag, fallback } = question
    const answer = flags[flag]?.trim() ?? (ask ? undefined : fallback(given))
    if (answer === undefined && ask === undefined)
      throw new UsageError(`--${flag} is missing.`, USAGE)
    given = await answerTo(question, { given, answer, context })
    if (flags[flag] === undefined && ask !== undefined) continue
    const problem = problemWith(name, given)
    if (problem !== undefined) throw new UsageError(`--${flag}: ${problem}.`, USAGE)
  }
  return given as Answers
}

/** Asks until an answer is valid, unless there is one already. */
async function answerTo(
  { name, text, fallback }: Question,
  {
    given,
    answer,
    context: { ask, complain },
  }: {
    readonly given: Partial<Answers>
    readonly answer: string | undefined
    readonly context: CliContext
  },
): Promise<Partial<Answers>> {
  if (answer !== undefined || ask === undefined) return { ...given, [name]: answer }
  for (;;) {
    const preset = fallback(given)
    const typed = (await ask(`${text}${preset ? ` [${preset}]` : ''}: `)).trim() || preset
    const answered = { ...given, [name]: typed ?? '' }
    const problem = problemWith(name, answered)
    if (problem === undefined) return answered
    complain(`  ${problem}`)
  }
}

interface Written {
  readonly answers: Answers
  readonly relayer: string
  readonly token: string
  readonly port: number | undefined
  readonly files: {
    readonly config: string
    readonly env: string
    readonly moved: readonly string[]
    readonly ignored: Awaited<ReturnType<typeof ignoreFiles>>
  }
}

/** Prints the token and the next steps. */
function explain(context: CliContext, { answers, relayer, token, port, files }: Written): void {
  const { complain, print } = context
  const paint = painter(context)
  const found = findNetwork(answers.network)
  const network = found?.name ?? answers.network
  const gasToken = found === undefined ? 'its native currency' : gasTokenOf(found)
  for (const path of files.moved) complain(`Kept: ${path}`)
  complain(`Written: ${files.config}`)
  complain(`Written: ${files.env} (mode 600; keep a copy)`)
  const { path, failure } = files.ignored
  if (failure === undefined) complain(`Written: ${path} (git ignores the key)`)
  else
    complain(
      `${path} cannot be written (${failure}): keep ${files.env} out of version control yourself.`,
    )
  complain('Token of the project, for the shop’s server. Copy it now; you will not see it again:')
  print(token)
  complain(`
${paint('bold', 'Next:')}
  1. Send a little ${gasToken} on ${network} to ${relayer}. It pays the network fees.
  2. npm install express-x402-gateway express
  3. npx express-x402-gateway doctor
  4. npx express-x402-gateway serve${port === undefined ? '' : ` --port ${port}`}`)
}
