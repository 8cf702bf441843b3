import { once } from 'node:events'
import { OwnFile } from './own-file.js'
import { type DevnetInfo, type DevnetOptions, openDevnet } from './start-devnet.js'

/** Options of {@link runDevnetCommand}. */
export interface DevnetCommand extends Pick<DevnetOptions, 'port' | 'blockTime'> {
  /** Where `X402_*` variables for the default gateway are written, instead of JSON to `write`. */
  readonly environmentFile?: string | undefined
  /** Writes one line; the line break is not included. */
  readonly write: (line: string) => void
  /** Called with the URL of its JSON-RPC once that is written. */
  readonly onReady?: (rpcUrl: string) => void
  /** Ends the command. */
  readonly signal: AbortSignal
}

/**
 * Runs a local chain until the signal aborts, and writes its data: `DevnetInfo` as one line of JSON, or
 * variables to a file.
 *
 * @throws {@link ConfigError} when an option is invalid, anvil is not installed, or the file is not ours.
 * @throws Error when anvil cannot start, or ends by itself.
 */
export async function runDevnetCommand({
  environmentFile,
  write,
  onReady,
  signal,
  ...options
}: DevnetCommand): Promise<void> {
  if (signal.aborted) return
  const aborted = once(signal, 'abort')
  const file = environmentFile === undefined ? undefined : new OwnFile(environmentFile)
  await file?.check()
  const { devnet, exited } = await openDevnet(options)
  let lastWords: string | undefined
  try {
    if (!signal.aborted) {
      if (file === undefined) write(JSON.stringify(devnet))
      else await file.write(environmentFor(devnet))
      onReady?.(devnet.rpcUrl)
    }
    lastWords = await Promise.race([exited, aborted.then(() => undefined)])
  } finally {
    await devnet.close()
  }
  if (lastWords !== undefined) throw new Error(`anvil ended: ${lastWords}`)
}

/** The default gateway's variables for this chain, as lines of a `.env` file. */
function environmentFor({ rpcUrl, relayerKeys, merchant, payers }: DevnetInfo): string {
  return [
    '# Good while this devnet runs. The keys are public: never send real money to them.',
    'X402_NETWORK=base-sepolia',
    `X402_RPC_URL=${rpcUrl}`,
    `X402_RELAYER_KEY=${relayerKeys[0]}`,
    `X402_PAY_TO=${merchant.address}`,
    '# An account with a million test USDC, for programs that buy.',
    `BUYER_KEY=${payers[0]?.privateKey}`,
  ].join('\n')
}
