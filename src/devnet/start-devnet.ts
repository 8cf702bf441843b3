import { isIP } from 'node:net'
import { ConfigError } from '../errors.js'
import { type DevnetAccount, MERCHANT, PAYERS, RELAYER_KEYS } from './accounts.js'
import { type Anvil, startAnvil } from './anvil.js'
import { multicall3Code, usdcCode, usdcProxyCode } from './artifacts.js'
import { findAnvil } from './find-anvil.js'
import { encodeMint, encodeMintEach, MINTER, sendMint, waitUntilMinted } from './mint.js'
import { type Hex, sendBatch } from './send-batch.js'

/** What {@link startDevnet} can be told. */
export interface DevnetOptions {
  /**
   * TCP port of the RPC endpoint, 0 to 65535; `0` takes a free one.
   * @defaultValue 0
   */
  readonly port?: number
  /**
   * Seconds between blocks, a fraction is fine.
   * @defaultValue none: every transaction is mined at once, and a block at least every five seconds
   */
  readonly blockTime?: number
  /**
   * IP address to listen on. Whoever reaches it controls the chain.
   * @defaultValue '127.0.0.1'
   */
  readonly host?: string
}

/** What there is on a local chain; every value but the URL is the same each time. */
export interface DevnetInfo {
  /** The JSON-RPC endpoint. */
  readonly rpcUrl: string
  /** Base Sepolia's. */
  readonly chainId: typeof CHAIN_ID
  /**
   * The token: 6 decimals, EIP-712 domain `USDC`, version `2`, at Base Sepolia's USDC address.
   *
   * Shaped like Circle's FiatTokenV2_2: behind a proxy, for about the same gas. Play money, so anybody
   * may call `mint(address,uint256)`, `pause()`, `unpause()`, `blacklist(address)` and
   * `unBlacklist(address)`.
   */
  readonly asset: typeof USDC_ADDRESS
  /** Where Multicall3 is on every chain. */
  readonly multicall3: typeof MULTICALL3_ADDRESS
  /** Three accounts with a million ETH each, to pay gas from. */
  readonly relayerKeys: readonly Hex[]
  /** Ten accounts with a million USDC each, and no ETH. */
  readonly payers: readonly DevnetAccount[]
  /** An account that has nothing yet. */
  readonly merchant: DevnetAccount
}

/** A running local chain. */
export interface Devnet extends DevnetInfo {
  /**
   * Gives USDC to an address; resolves when the transaction is mined.
   *
   * @param amount - In atomic units: `1_000_000n` is one USDC.
   * @throws Error - When the token refuses, as it does for the zero address.
   */
  mint(address: Hex, amount: bigint): Promise<void>
  /**
   * Mines blocks at once, also where there is a block time.
   *
   * @param blocks - How many.
   * @defaultValue 1
   */
  mine(blocks?: number): Promise<void>
  /** Ends the chain; resolves when its process is gone. Calling it again is fine. */
  close(): Promise<void>
  /** {@link Devnet.close}, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>
}

const CHAIN_ID = 84532
const USDC_ADDRESS = '0x036CbD53842c5426634e7929541eC2318f3dCF7e'
/** Where the proxy at {@link USDC_ADDRESS} finds its code. */
const USDC_IMPLEMENTATION = '0x0000000000000000000000000000000000003009'
/** Where a proxy keeps the address of its implementation (ERC-1967). */
const IMPLEMENTATION_SLOT = '0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc'
const MULTICALL3_ADDRESS = '0xcA11bde05977b3631167028862bE2a173976CA11'

/** Milliseconds between two looks whether a block was mined: without one, there is one at the second. */
const HEARTBEAT_MS = 2000

const MINTER_BALANCE = 10n ** 24n
const PAYER_BALANCE = 1_000_000n * 10n ** 6n

/**
 * Starts a local chain that official x402 clients take for Base Sepolia.
 *
 * It is the real anvil, from the npm package `@foundry-rs/anvil` or the `PATH`, with an ERC-3009
 * token like USDC at the address of Base Sepolia's, Multicall3, relayers, payers and a merchant. It is
 * ready within a second and does not outlive this process.
 *
 * Instant mining suits tests. Where many transactions are in flight, use a block time: anvil works
 * out the state's root for each block, which takes longer with every payment made; and a
 * transaction that reaches it ahead of the same account's previous one can wait forever.
 *
 * @throws ConfigError - When an option is invalid or anvil is not installed.
 * @throws Error - With anvil's own words, when it cannot start, for instance on a port in use.
 *
 * @example
 * const devnet = await startDevnet()
 * const gateway = createGateway({
 *   networks: { 'base-sepolia': { rpcUrl: devnet.rpcUrl, relayerKeys: devnet.relayerKeys } },
 * })
 * await devnet.close()
 */
export async function startDevnet(options: DevnetOptions = {}): Promise<Devnet> {
  const { devnet } = await openDevnet(options)
  return devnet
}

/** {@link startDevnet}, for those who also need to know when anvil ends by itself. */
export async function openDevnet(
  options: DevnetOptions,
): Promise<{ devnet: Devnet; exited: Promise<string> }> {
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
  return { devnet: describeDevnet(anvil), exited: anvil.exited }
}

function checkOptions({ port, blockTime, host }: DevnetOptions): void {
  if (port !== undefined && !(Number.isInteger(port) && port >= 0 && port <= 65535)) {
    throw new ConfigError('port', 'must be an integer from 0 to 65535')
  }
  if (blockTime !== undefined && !(Number.isFinite(blockTime) && blockTime > 0)) {
    throw new ConfigError('blockTime', 'must be a number of seconds above 0')
  }
  if (host !== undefined && isIP(host) === 0) {
    throw new ConfigError('host', 'must be an IP address')
  }
}

async function furnish(rpcUrl: string, mining: { instant: boolean }): Promise<void> {
  await sendBatch(rpcUrl, [
    ['anvil_setLoggingEnabled', false],
    ['anvil_setCode', USDC_IMPLEMENTATION, usdcCode],
    ['anvil_setCode', USDC_ADDRESS, usdcProxyCode],
    [
      'anvil_setStorageAt',
      USDC_ADDRESS,
      IMPLEMENTATION_SLOT,
      `0x${USDC_IMPLEMENTATION.slice(2).padStart(64, '0')}`,
    ],
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
 * Mines a block at least every five seconds, where no transaction does.
 *
 * Calls run at the time of the last block; on a chain that stands still, what a wallet signs now is
 * not valid yet. Where instant mining was stopped, it is meant to stand still.
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
  // One after the other: asked at the same time, anvil gives two mints the same transaction count.
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
