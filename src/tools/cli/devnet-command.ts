import { resolve } from 'node:path'
import { runDevnetCommand } from '../devnet/devnet-command.js'
import { EXIT, type Command } from './command.js'
import { numberFrom, portFrom, readFlags, UsageError } from './flags.js'

const USAGE = `Usage: express-x402-gateway devnet [--port n] [--block-time seconds] [--env file]

  Runs a local chain that x402 clients take for Base Sepolia, with a token, funded payers, relayers and
  a merchant, and prints its data as one line of JSON. Needs @foundry-rs/anvil.

  --port         port of its JSON-RPC [a free one]
  --block-time   seconds between blocks [each transaction is mined at once]
  --env          writes the X402_* variables of an app to a file instead: devnet --env devnet.env.
                 An existing file is overwritten only if this command wrote it`

export const devnetCommand: Command = {
  name: 'devnet',
  summary: 'Runs a local chain with a token, funded payers, relayers and a merchant.',
  usage: USAGE,
  async run(args, context) {
    const named = args.includes('--env') ? args[args.indexOf('--env') + 1] : undefined
    if (args.includes('--env=') || (args.includes('--env') && /^(-|$)/.test(named ?? '')))
      throw new UsageError('--env needs the name of a file: devnet --env devnet.env.')
    const flags = readFlags(args, { names: ['port', 'block-time', 'env'] })
    const { env } = flags
    const port = portFrom(flags['port'])
    const blockTime = numberFrom('block-time', flags['block-time'])
    await runDevnetCommand({
      ...(port !== undefined && { port }),
      ...(blockTime !== undefined && { blockTime }),
      environmentFile: env === undefined ? undefined : resolve(context.cwd, env),
      write: context.print,
      onReady: (rpcUrl) => {
        if (env !== undefined || context.isRedirected)
          context.complain(`The local chain is ready on ${rpcUrl}. Stop it with Ctrl+C.`)
        if (env !== undefined)
          context.complain(`Start the app with its variables: node --env-file=${env} app.mjs`)
      },
      signal: context.signal,
    })
    return EXIT.ok
  },
}
