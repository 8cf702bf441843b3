import { mkdir } from 'node:fs/promises'
import { join, relative, resolve } from 'node:path'
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts'
import { DEFAULT_FILE } from '../../gateway/config/read/config-file.js'
import { ENV_FILE } from '../../gateway/config/read/env-file.js'
import { createToken } from '../../shared/crypto/identify-token.js'
import { findNetwork, gasTokenOf } from '../../shared/protocol/networks.js'
import type { Hex } from '../../shared/protocol/payment.js'
import { EXIT, type Command, type CliContext } from './command.js'
import { readFlags } from './flags.js'
import { readAnswers, type Answers } from './init/answers.js'
import { addToEnv, ignoreFiles, writeNew } from './init/files.js'
import { appEnvText, configText, envText } from './init/template.js'
import { painter } from './style.js'

const USAGE = `Usage: express-x402-gateway init --pay-to address [--app] [--network name] [--rpc-url url] [--dir folder]

  Writes gateway.config.json, with comments, and .env with the key of a new relayer. Only you can read
  .env, and it is added to .gitignore. The identify token of the project is printed once, to standard
  output.

  With --app, for an Express app that charges for its own routes: adds its X402_* variables to .env, and
  changes nothing that is there.

  --pay-to       wallet address where payments arrive
  --app          writes the variables of an app, and no gateway.config.json
  --network      short name or eip155:<chain id> [base-sepolia]
  --rpc-url      URL of a JSON-RPC node [a public one, for base and base-sepolia]
  --dir          folder for the files [.]
  --yes          accepted, as by the init of other tools: nothing is asked`

export const initCommand: Command = {
  name: 'init',
  summary: 'Writes a configuration, with a new relayer key and a token.',
  usage: USAGE,
  async run(args, context) {
    const flags = readFlags(args, {
      names: ['pay-to', 'network', 'rpc-url', 'dir'],
      switches: ['app', 'yes'],
    })
    const answers = readAnswers(flags)
    const key = generatePrivateKey()
    const files = {
      folder: resolve(context.cwd, flags['dir'] ?? '.'),
      answers,
      relayer: { key, address: privateKeyToAddress(key) },
    }
    await (flags['app'] === undefined ? initServe(files, context) : initApp(files, context))
    return EXIT.ok
  },
}

interface Files {
  readonly folder: string
  readonly answers: Answers
  readonly relayer: { readonly key: Hex; readonly address: Hex }
}

async function initServe(
  { folder, answers, relayer: { key, address: relayer } }: Files,
  context: CliContext,
): Promise<void> {
  const { complain, print } = context
  const token = createToken()
  const config = join(folder, DEFAULT_FILE)
  const env = join(folder, ENV_FILE)
  await writeNew([
    // The key is written first: a configuration without its key would be useless.
    { path: env, text: envText({ ...answers, key }), mode: 0o600 },
    { path: config, text: configText({ ...answers, relayer, token }), mode: 0o644 },
  ])
  complain(`Written: ${config}`)
  complain(`Written: ${env} (mode 600; keep a copy)`)
  explainIgnored(context, env, await ignoreFiles(folder, [ENV_FILE]))
  complain('Token of the project, for the shop’s server. Copy it now; you will not see it again:')
  print(token)
  explainNext(context, folder, [
    fundingOf(answers, relayer),
    'npm install express-x402-gateway express',
    'npx express-x402-gateway doctor',
    'npx express-x402-gateway serve',
    `For the console, set \`admin\` in ${DEFAULT_FILE}.`,
  ])
}

async function initApp({ folder, answers, relayer }: Files, context: CliContext): Promise<void> {
  await mkdir(folder, { recursive: true })
  const env = join(folder, ENV_FILE)
  const { isNew, isOpen } = await addToEnv(env, appEnvText(answers, relayer))
  const { complain } = context
  complain(`${isNew ? 'Written' : 'Extended'}: ${env} (keep a copy of the key)`)
  explainIgnored(context, env, await ignoreFiles(folder, [ENV_FILE]))
  if (isOpen) complain(`Others can read ${env}, which has a key now: chmod 600 ${env}`)
  explainNext(context, folder, [
    fundingOf(answers, relayer.address),
    'npx express-x402-gateway doctor',
    `node --env-file=${ENV_FILE} app.mjs`,
  ])
}

function explainNext(context: CliContext, folder: string, steps: readonly string[]): void {
  const path = relative(context.cwd, folder)
  const all = path === '' ? steps : [`cd '${path}'`, ...steps]
  const lines = all.map((step, index) => `\n  ${index + 1}. ${step}`)
  context.complain(`\n${painter(context)('bold', 'Next:')}${lines.join('')}`)
}

function explainIgnored(
  { complain }: CliContext,
  env: string,
  { path, failure }: Awaited<ReturnType<typeof ignoreFiles>>,
): void {
  complain(
    failure === undefined
      ? `Written: ${path} (git ignores the key)`
      : `${path} cannot be written (${failure}): keep ${env} out of version control yourself.`,
  )
}

function fundingOf({ network }: Answers, relayer: string): string {
  const found = findNetwork(network)
  const gasToken = found === undefined ? 'its native currency' : gasTokenOf(found)
  return `Send a little ${gasToken} on ${found?.name ?? network} to ${relayer}. It pays the network fees.`
}
