import { once } from 'node:events'
import { type DevnetOptions, openDevnet } from './start-devnet.js'

/** Options of {@link runDevnetCommand}. */
export interface DevnetCommand extends Pick<DevnetOptions, 'port' | 'blockTime'> {
  /** Writes one line; the line break is not included. */
  readonly write: (line: string) => void
  /** Ends the command. */
  readonly signal: AbortSignal
}

/**
 * Runs a local chain until the signal aborts, and writes its data (`DevnetInfo`) as one line of JSON.
 *
 * @throws {@link ConfigError} when an option is invalid or anvil is not installed.
 * @throws Error when anvil cannot start, or ends by itself.
 */
export async function runDevnetCommand({
  write,
  signal,
  ...options
}: DevnetCommand): Promise<void> {
  if (signal.aborted) return
  const aborted = once(signal, 'abort')
  const { devnet, exited } = await openDevnet(options)
  if (!signal.aborted) write(JSON.stringify(devnet))
  const lastWords = await Promise.race([exited, aborted.then(() => undefined)])
  await devnet.close()
  if (lastWords !== undefined) throw new Error(`anvil ended: ${lastWords}`)
}
