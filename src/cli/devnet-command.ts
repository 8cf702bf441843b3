import { runDevnetCommand } from '../devnet/devnet-command.js'
import { EXIT, type Command } from './command.js'
import { numberFrom, portFrom, readFlags } from './flags.js'

const USAGE = `Usage: express-x402-gateway devnet [--port n] [--block-time seconds] [--env]

  Runs a local chain that x402 clients take for Base Sepolia, with a token, funded payers, relayers and
  a merchant, and prints its data as one line of JSON. Needs @foundry-rs/anvil.

  --port         port of its JSON-RPC [a free one]
  --block-time   seconds between blocks [each transaction is mined at once]
  --env          prints the X402_* variables that an app needs instead: devnet --env > .env`

/** `devnet`: a local chain. */
export const devnetCommand: Command = {
  name: 'devnet',
  summary: 'Runs a local chain with a token, funded payers, relayers and a merchant.',
  usage: USAGE,
  async run(args, context) {
    const flags = readFlags(args, {
      names: ['port', 'block-time'],
      switches: ['env'],
      usage: USAGE,
    })
    const port = portFrom(flags['port'])
    const blockTime = numberFrom('block-time', flags['block-time'])
    await runDevnetCommand({
      ...(port !== undefined && { port }),
      ...(blockTime !== undefined && { blockTime }),
      asEnvironment: flags['env'] !== undefined,
      write: context.print,
      onReady: (rpcUrl) => {
        if (context.isRedirected)
          context.complain(`The local chain is ready on ${rpcUrl}. Stop it with Ctrl+C.`)
      },
      signal: context.signal,
    })
    return EXIT.ok
  },
}
