import { isIP } from 'node:net'
import { ConfigError } from '../errors.js'
import type { Hex } from '../protocol/payment.js'
import { type DevnetAccount, MERCHANT, PAYERS, RELAYER_KEYS } from './accounts.js'
import { type Anvil, startAnvil } from './anvil.js'
import { multicall3Code, usdcCode, usdcProxyCode } from './artifacts.js'
import { findAnvil } from './find-anvil.js'
import { encodeMint, encodeMintEach, MINTER, sendMint, waitUntilMinted } from './mint.js'
import { sendBatch } from './send-batch.js'

/**
 * Options of {@link startDevnet}.
 *
 * @example
 * ```ts
 * import type { DevnetOptions } from 'express-x402-gateway/devnet'
 *
 * const options: DevnetOptions = { port: 8545, blockTime: 2 }
 * ```
 */
export interface DevnetOptions {
  /**
   * TCP port of the RPC endpoint, 0 to 65535. `0` selects a free one.
   * @defaultValue 0
   */
  readonly port?: number
  /**
   * Seconds between blocks; fractions are allowed.
   * @defaultValue none: each transaction is mined at once, and a block at least every five seconds
   */
  readonly blockTime?: number
  /**
   * IP address to listen on. Everyone who can reach it controls the chain.
   * @defaultValue '127.0.0.1'
   */
  readonly host?: string
}

/** Contents of a new local chain. Every value except the URL is the same each time. */
export interface DevnetInfo {
  /** The JSON-RPC endpoint. */
  readonly rpcUrl: string
  /** Base Sepolia's. */
  readonly chainId: 84532
  /**
   * The token: 6 decimals, EIP-712 domain `USDC`, version `2`, at Base Sepolia's USDC address.
   *
   * Built like Circle's FiatTokenV2_2, behind a proxy and with about the same gas. Anybody may call
   * `mint(address,uint256)`, `pause()`, `unpause()`, `blacklist(address)` and `unBlacklist(address)`.
   */
  readonly asset: '0x036CbD53842c5426634e7929541eC2318f3dCF7e'
  /** Multicall3, at its address on every chain. */
  readonly multicall3: '0xcA11bde05977b3631167028862bE2a173976CA11'
  /** Keys of three relayers with a million ETH each. */
  readonly relayerKeys: readonly Hex[]
  /** Ten accounts with a million USDC each, and no ETH. */
  readonly payers: readonly DevnetAccount[]
  /** An account without funds. */
  readonly merchant: DevnetAccount
}

/** A running local chain, as {@link startDevnet} returns it. */
export interface Devnet extends DevnetInfo {
  /**
   * Gives USDC to an address. Resolves when the transaction is mined.
   *
   * @param address - The recipient.
   * @param amount - In atomic units: `1_000_000n` is one USDC.
   * @throws Error when the token refuses, as it does for the zero address.
   */
  mint(address: Hex, amount: bigint): Promise<void>
  /**
   * Mines blocks at once, even with a block time.
   *
   * @param blocks - How many.
   * @defaultValue 1
   */
  mine(blocks?: number): Promise<void>
  /** Stops the chain. Resolves when its process is gone. May be called again. */
  close(): Promise<void>
  /** {@link Devnet.close}, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>
}

const CHAIN_ID: DevnetInfo['chainId'] = 84532
const USDC_ADDRESS: DevnetInfo['asset'] = '0x036CbD53842c5426634e7929541eC2318f3dCF7e'
/** Address of the code behind the proxy at {@link USDC_ADDRESS}. */
const USDC_IMPLEMENTATION = '0x0000000000000000000000000000000000003009'
/** Storage slot of a proxy's implementation address (ERC-1967). */
const IMPLEMENTATION_SLOT = '0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc'
const MULTICALL3_ADDRESS: DevnetInfo['multicall3'] = '0xcA11bde05977b3631167028862bE2a173976CA11'

/** How often new blocks are checked for (ms). The second check without one mines one. */
const HEARTBEAT_MS = 2000

const MINTER_BALANCE = 10n ** 24n
const PAYER_BALANCE = 1_000_000n * 10n ** 6n

/**
 * Starts a local chain that official x402 clients accept as Base Sepolia.
 *
 * The chain is the real anvil, from the npm package `@foundry-rs/anvil` or the `PATH`, with an ERC-3009
 * token at the address of Base Sepolia's USDC, Multicall3, relayers, payers and a merchant. It is ready
 * within a second and ends with this process.
 *
 * Instant mining suits tests. With many pending transactions, set a block time: anvil computes the
 * state root of each block, which takes longer with every payment, and a transaction that arrives
 * before the account's previous one can wait forever.
 *
 * @param options - Port, block time and host.
 * @returns The running chain. Call its `close`, or declare it with `await using`.
 * @throws `ConfigError` with code `config_invalid` when an option is invalid or anvil is not installed.
 * @throws Error with anvil's own message when it cannot start, for instance on a port in use.
 *
 * @example
 * ```ts
 * import { createGateway } from 'express-x402-gateway'
 * import { startDevnet } from 'express-x402-gateway/devnet'
 *
 * const devnet = await startDevnet()
 * const gateway = createGateway({
 *   networks: { 'base-sepolia': { rpcUrl: devnet.rpcUrl, relayerKeys: devnet.relayerKeys } },
 *   projects: [{ id: 'shop', merchant: { payTo: devnet.merchant.address } }],
 * })
 * await gateway.close()
 * await devnet.close()
 * ```
 */
export async function startDevnet(options: DevnetOptions = {}): Promise<Devnet> {
  const { devnet } = await openDevnet(options)
  return devnet
}

/** A local chain with its process. */
interface OpenDevnet extends Pick<Anvil, 'exited' | 'unref'> {
  readonly devnet: Devnet
}

/** Like {@link startDevnet}, and also reports when anvil ends by itself. */
export async function openDevnet(options: DevnetOptions): Promise<OpenDevnet> {
  checkOptions(options)
  const { port = 0, host = '127.0.0.1', blockTime } = options
  const anvil = await startAnvil({
    binary: findAnvil(),
    host,
    port,
    chainId: CHAIN_ID,
    accounts: RELAYER_KEYS.length,
    ...(blockTime !== undefined && { blockTime }),
  })
  try {
    await furnish(anvil.rpcUrl, { instant: blockTime === undefined })
  } catch (error) {
    await anvil.stop()
    throw error
  }
  if (blockTime === undefined) keepTime(anvil)
  return { devnet: describeDevnet(anvil), exited: anvil.exited, unref: anvil.unref }
}

function checkOptions({ port, blockTime, host }: DevnetOptions): void {
  if (port !== undefined && !(Number.isInteger(port) && port >= 0 && port <= 65535))
    throw new ConfigError('port', 'must be an integer from 0 to 65535', 'out_of_range')
  if (blockTime !== undefined && !(Number.isFinite(blockTime) && blockTime > 0))
    throw new ConfigError('blockTime', 'must be a number of seconds above 0', 'out_of_range')
  if (host !== undefined && isIP(host) === 0) throw new ConfigError('host', 'must be an IP address')
}

async function furnish(rpcUrl: string, mining: { instant: boolean }): Promise<void> {
  const implementation = `0x${USDC_IMPLEMENTATION.slice(2).padStart(64, '0')}`
  await sendBatch(rpcUrl, [
    ['anvil_setLoggingEnabled', false],
    ['anvil_setCode', USDC_IMPLEMENTATION, usdcCode],
    ['anvil_setCode', USDC_ADDRESS, usdcProxyCode],
    ['anvil_setStorageAt', USDC_ADDRESS, IMPLEMENTATION_SLOT, implementation],
    ['anvil_setCode', MULTICALL3_ADDRESS, multicall3Code],
    ['anvil_setBalance', MINTER, toHex(MINTER_BALANCE)],
    ['anvil_impersonateAccount', MINTER],
  ])
  const token = { rpcUrl, asset: USDC_ADDRESS } as const
  const payers = PAYERS.map(({ address }) => address)
  const hash = await sendMint(token, encodeMintEach(payers, PAYER_BALANCE))
  if (!mining.instant) await sendBatch(rpcUrl, [['evm_mine']])
  await waitUntilMinted(token, hash)
}

/**
 * Mines a block at least every five seconds, even without transactions: `eth_call` runs at the time of
 * the last block, when an authorization that is signed now was not valid yet. Not after a test has turned
 * instant mining off.
 */
function keepTime({ rpcUrl, exited }: Anvil): void {
  let last: unknown
  const beat = async (): Promise<void> => {
    const [isMining, block] = await sendBatch(rpcUrl, [['anvil_getAutomine'], ['eth_blockNumber']])
    const isIdle = block === last
    last = block
    if (isMining && isIdle) await sendBatch(rpcUrl, [['evm_mine']])
  }
  const beating = setInterval(() => void beat().catch(() => undefined), HEARTBEAT_MS)
  beating.unref()
  void exited.then(() => clearInterval(beating))
}

function describeDevnet(anvil: Anvil): Devnet {
  const { rpcUrl } = anvil
  const token = { rpcUrl, asset: USDC_ADDRESS } as const
  // One after the other: anvil gives two simultaneous mints the same account nonce.
  let lastSent: Promise<unknown> = Promise.resolve()
  const sendInTurn = (data: Hex): Promise<unknown> => {
    const sent = lastSent.then(() => sendMint(token, data))
    lastSent = sent.catch(() => undefined)
    return sent
  }
  return {
    rpcUrl,
    chainId: CHAIN_ID,
    asset: USDC_ADDRESS,
    multicall3: MULTICALL3_ADDRESS,
    relayerKeys: RELAYER_KEYS,
    payers: PAYERS,
    merchant: MERCHANT,
    mint: async (address, amount) => {
      await waitUntilMinted(token, await sendInTurn(encodeMint(address, amount)))
    },
    mine: async (blocks = 1) => {
      await sendBatch(rpcUrl, [['anvil_mine', toHex(blocks)]])
    },
    close: () => anvil.stop(),
    [Symbol.asyncDispose]: () => anvil.stop(),
  }
}

function toHex(value: bigint | number): Hex {
  return `0x${value.toString(16)}`
}
