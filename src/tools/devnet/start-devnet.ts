import { isIP } from 'node:net'
import { ConfigError } from '../../shared/errors.js'
import type { Hex } from '../../shared/protocol/payment.js'
import { type DevnetAccount, MERCHANT, PAYERS, RELAYER_KEYS } from './accounts.js'
import { type Anvil, startAnvil } from './anvil.js'
import { findAnvil } from './find-anvil.js'
import {
  encodeAggregate,
  encodeMint,
  encodeMintEach,
  MINTER,
  sendMint,
  waitUntilMined,
} from './mint.js'
import { type RpcCall, sendBatch } from './send-batch.js'

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
  /**
   * A token with EIP-2612 and without ERC-3009: 18 decimals, EIP-712 domain `Permit Token`, version `1`.
   * Anybody may call `mint(address,uint256)`.
   */
  readonly permitToken: '0x0000000000000000000000000000000000002612'
  /** A token with neither: 6 decimals. Anybody may call `mint(address,uint256)`. */
  readonly plainToken: '0x0000000000000000000000000000000000000e20'
  /** Multicall3, at its address on every chain. */
  readonly multicall3: '0xcA11bde05977b3631167028862bE2a173976CA11'
  /** Permit2's signature transfers, at its address on every chain. */
  readonly permit2: '0x000000000022D473030F116dDEE9F6B43aC78BA3'
  /** x402's spender of `exact` payments by Permit2, at its address on every chain. */
  readonly exactPermit2Proxy: '0x402085c248EeA27D92E8b30b2C58ed07f9E20001'
  /** x402's spender of `upto` payments, at its address on every chain. */
  readonly uptoPermit2Proxy: '0x4020A4f3b7b90ccA423B9fabCc0CE57C6C240002'
  /**
   * Deploys smart accounts for ERC-6492, with `createAccount(address owner, uint256 nonce)`, where
   * `getAddress(address owner, uint256 nonce)` says. The owner's signatures are the account's (ERC-1271).
   */
  readonly accountFactory: '0x0000000000000000000000000000000000006492'
  /** The executor of all `relayerKeys`, for `executor: true`. Fewer of them have another one. */
  readonly executor: '0xf241306d30d5Ee84C3BE8066E2e3faE71dFbf686'
  /** Keys of three relayers with a million ETH each. */
  readonly relayerKeys: readonly Hex[]
  /** Ten accounts with a million of each token, and no ETH. */
  readonly payers: readonly DevnetAccount[]
  /** An account without funds. */
  readonly merchant: DevnetAccount
}

/** A running local chain, as {@link startDevnet} returns it. */
export interface Devnet extends DevnetInfo {
  /**
   * Gives tokens to an address. Resolves when the transaction is mined.
   *
   * @param address - The recipient.
   * @param amount - In atomic units: `1_000_000n` is one USDC.
   * @param token - Another token than USDC.
   * @throws Error when the token refuses, as it does for the zero address.
   */
  mint(address: Hex, amount: bigint, token?: Hex): Promise<void>
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

/** Every member of a chain but its URL. */
const INFO: Omit<DevnetInfo, 'rpcUrl'> = {
  chainId: 84532,
  asset: '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
  permitToken: '0x0000000000000000000000000000000000002612',
  plainToken: '0x0000000000000000000000000000000000000e20',
  multicall3: '0xcA11bde05977b3631167028862bE2a173976CA11',
  permit2: '0x000000000022D473030F116dDEE9F6B43aC78BA3',
  exactPermit2Proxy: '0x402085c248EeA27D92E8b30b2C58ed07f9E20001',
  uptoPermit2Proxy: '0x4020A4f3b7b90ccA423B9fabCc0CE57C6C240002',
  accountFactory: '0x0000000000000000000000000000000000006492',
  executor: '0xf241306d30d5Ee84C3BE8066E2e3faE71dFbf686',
  relayerKeys: RELAYER_KEYS,
  payers: PAYERS,
  merchant: MERCHANT,
}
/** Address of the code behind the proxy at the USDC's. */
const USDC_IMPLEMENTATION = '0x0000000000000000000000000000000000003009'
/** Storage slot of a proxy's implementation address (ERC-1967). */
const IMPLEMENTATION_SLOT = '0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc'

/** How often new blocks are checked for (ms). The second check without one mines one. */
const HEARTBEAT_MS = 2000

const MINTER_BALANCE = 10n ** 24n
const PAYER_BALANCE = 1_000_000n

/**
 * Starts a local chain that official x402 clients accept as Base Sepolia.
 *
 * The chain is the real anvil, from the npm package `@foundry-rs/anvil` or the `PATH`, with an ERC-3009
 * token at the address of Base Sepolia's USDC, two other tokens, Multicall3, Permit2 with x402's proxies,
 * smart accounts, relayers, payers and a merchant. It is ready within a second and ends with this process.
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

/** Like {@link startDevnet}, and also reports when anvil ends by itself. */
export async function openDevnet(options: DevnetOptions) {
  checkOptions(options)
  const { port = 0, host = '127.0.0.1', blockTime } = options
  const anvil = await startAnvil({
    binary: findAnvil(),
    host,
    port,
    chainId: INFO.chainId,
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
  // The command line's other commands, `serve` above all, are not to carry them.
  const artifacts = await import('./artifacts.js')
  const codes: readonly (readonly [address: Hex, code: string])[] = [
    [USDC_IMPLEMENTATION, artifacts.usdcCode],
    [INFO.asset, artifacts.usdcProxyCode],
    [INFO.permitToken, artifacts.permitTokenCode],
    [INFO.plainToken, artifacts.plainTokenCode],
    [INFO.multicall3, artifacts.multicall3Code],
    [INFO.permit2, artifacts.permit2Code],
    [INFO.exactPermit2Proxy, artifacts.exactPermit2ProxyCode],
    [INFO.uptoPermit2Proxy, artifacts.uptoPermit2ProxyCode],
    [INFO.accountFactory, artifacts.accountFactoryCode],
    [INFO.executor, artifacts.executorCode],
  ]
  const implementation = `0x${USDC_IMPLEMENTATION.slice(2).padStart(64, '0')}`
  await sendBatch(rpcUrl, [
    ['anvil_setLoggingEnabled', false],
    ...codes.map(([address, code]): RpcCall => ['anvil_setCode', address, code]),
    ['anvil_setStorageAt', INFO.asset, IMPLEMENTATION_SLOT, implementation],
    ['anvil_setBalance', MINTER, toHex(MINTER_BALANCE)],
    ['anvil_impersonateAccount', MINTER],
  ])
  const payers = PAYERS.map(({ address }) => address)
  const mintEach = (to: Hex, decimals: bigint) => ({
    to,
    data: encodeMintEach(payers, PAYER_BALANCE * 10n ** decimals),
  })
  const mints = [
    mintEach(INFO.asset, 6n),
    mintEach(INFO.permitToken, 18n),
    mintEach(INFO.plainToken, 6n),
  ]
  const hash = await sendMint({ rpcUrl, to: INFO.multicall3 }, encodeAggregate(mints))
  if (!mining.instant) await sendBatch(rpcUrl, [['evm_mine']])
  await waitUntilMined(rpcUrl, hash)
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
  // One after the other: anvil gives two simultaneous mints the same account nonce.
  let lastSent: Promise<unknown> = Promise.resolve()
  const sendInTurn = (to: Hex, data: Hex): Promise<unknown> => {
    const sent = lastSent.then(() => sendMint({ rpcUrl, to }, data))
    lastSent = sent.catch(() => undefined)
    return sent
  }
  return {
    rpcUrl,
    ...INFO,
    mint: async (address, amount, token = INFO.asset) => {
      await waitUntilMined(rpcUrl, await sendInTurn(token, encodeMint(address, amount)))
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
