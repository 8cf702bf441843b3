import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { privateKeyToAddress } from 'viem/accounts'
import { sendBatch } from '../../src/tools/devnet/send-batch.js'
import type { Devnet } from '../../src/tools/devnet/index.js'
import type { LedgerStore, LedgerRecord } from '../../src/ledger/index.js'
import type { NetworkOptions } from '../../src/gateway/config/options/network.js'
import type { GatewayOptions } from '../../src/gateway/config/options.js'
import type { Hex, PaymentPayload, PaymentRequirements } from '../../src/shared/protocol/payment.js'
import { loadSqlite } from '../../src/ledger/engine/sqlite.js'
import { openPostgresLedger } from '../../src/ledger/postgres-ledger.js'
import { openSqliteLedger } from '../../src/ledger/sqlite-ledger.js'
import { decodeDocument, paymentHeader } from '../support/http.js'
import { executorOf } from '../../src/core/chain/executor.js'
import { permit2Of } from '../tools/devnet/permit2.js'
import { keyOf, signPermit, withApproval } from '../support/sign-permit.js'
import { startRpcProxy, type RpcProxy } from '../support/rpc-proxy.js'
import {
  newNonce,
  signPayment,
  type SigningOverrides,
  type TestPayer,
} from '../support/sign-payment.js'
import {
  startGateway,
  type GatewayProcess,
  type LedgerMoment,
  type OtherProject,
} from './gateway-process.js'
import { authorizationOf } from './authorization.js'
import { findViolations, isOpen, readTransfers, type Answer, type Evidence } from './oracle.js'
import { offerOf } from '../support/core.js'

/** The shop's identify token. */
export const TOKEN = 'x402_test-token-of-the-fault-suite'
const ONE_ETHER = `0x${(10n ** 18n).toString(16)}`

/** Milliseconds for which a dead process holds what it worked on: short, since tests wait for it. */
const HOLD_MS = 2000

/** Milliseconds between two tries of a client whose payment is open. */
const RETRY_MS = 100

/** Milliseconds a client waits for one answer. */
const CLIENT_TIMEOUT_MS = 60_000

/** How a world differs from others. */
export interface WorldOptions {
  /** @defaultValue 1 */
  readonly relayers?: number
  /** Of the gateways. */
  readonly options?: GatewayOptions
  /** Milliseconds for which a dead process holds what it worked on. @defaultValue 2000 */
  readonly lockMs?: number
  /** Milliseconds that requests have to finish when a gateway is asked to end. @defaultValue the gateway's */
  readonly closeMs?: number
  /** A file, a `postgres://` URL or `memory`, for the gateways. @defaultValue a new file */
  readonly ledger?: string
  /** Whether the node answers a transaction with its receipt. @defaultValue false */
  readonly hasSync?: boolean
  /** A second project beside the shop. */
  readonly other?: OtherProject
  /** How every gateway's network is set. */
  readonly network?: NetworkOptions
  /** The same ledger as the oracle reaches it. @defaultValue `ledger` */
  readonly oracleLedger?: string
}

/** How a payment is presented, where it matters. */
export interface Visit {
  /** The route, or `settle`. @defaultValue '/report' */
  readonly path?: string
  /** By which the client may ask again: a `payment-identifier`, or an `Idempotency-Key` of `settle`. */
  readonly key?: string | undefined
  /** Milliseconds after which the client gives up. */
  readonly patienceMs?: number | undefined
  /** Token units to take of a metered payment. @defaultValue its maximum */
  readonly charge?: bigint | undefined
  readonly headers?: Readonly<Record<string, string>>
}

/** A payment by Permit2. */
export interface PermitOptions {
  /** @defaultValue the next of the devnet's */
  readonly payer?: TestPayer | undefined
  /** Who makes the call of a metered payment. Without it the price is fixed. */
  readonly facilitator?: Hex | undefined
  /** Brings the payer's first approval of Permit2 with it. */
  readonly isSponsored?: boolean | undefined
}

/** A gateway, wherever it runs. */
export interface AtUrl {
  readonly url: string
}

/** One merchant, his gateways, their node's proxy, and clients that remember what they were told. */
export interface World {
  readonly devnet: Devnet
  readonly proxy: RpcProxy
  readonly merchant: Hex
  /** The merchant's key, for refunds. */
  readonly merchantKey: Hex
  readonly relayers: readonly { readonly key: Hex; readonly address: Hex }[]
  readonly ledger: string
  /** The shop's identify token. */
  readonly token: string
  readonly offer: PaymentRequirements
  readonly answers: readonly Answer[]
  readonly gateways: readonly GatewayProcess[]
  /** Starts a gateway on the world's ledger. */
  start(options?: {
    readonly options?: GatewayOptions
    readonly network?: NetworkOptions
    readonly diesIn?: LedgerMoment | undefined
    readonly closeMs?: number | undefined
  }): Promise<GatewayProcess>
  /** Signs one cent. */
  sign(overrides?: SigningOverrides, payer?: TestPayer): Promise<PaymentPayload>
  /** Signs one cent by Permit2. */
  signPermit(options?: PermitOptions): Promise<PaymentPayload>
  /** Who may be named as facilitator: the relayers, and their executor where there is one. */
  readonly facilitators: readonly Hex[]
  /** Has payers let Permit2 take their USDC. @defaultValue the devnet's payers */
  approve(payers?: readonly TestPayer[]): Promise<void>
  /** Pays for a route, or has a payment settled (`settle`). */
  present(gateway: AtUrl, payment: PaymentPayload, visit?: string | Visit): Promise<Answer>
  /** Presents the same payment until an answer is final. */
  presentUntilDecided(
    gateway: AtUrl | (() => AtUrl | Promise<AtUrl>),
    payment: PaymentPayload,
    visit?: string | Visit,
  ): Promise<Answer>
  /** The same, of several at once. */
  presentAll(gateway: AtUrl, payments: readonly PaymentPayload[], visit?: string): Promise<Answer[]>
  /** Asks the node itself. */
  node<T = unknown>(method: string, ...params: unknown[]): Promise<T>
  /** Everything there is to judge by, as it stands. */
  evidence(): Promise<Evidence>
  /** The oracle's word, once every gateway was killed. */
  violations(): Promise<string[]>
  records(): Promise<readonly LedgerRecord[]>
  /** Token units that the ledger says the merchant was paid. */
  revenue(): Promise<bigint>
  /** Token units that the merchant has on the chain. */
  balance(): Promise<bigint>
  /** Kills what runs and removes what was made. */
  close(): Promise<void>
}

/** Opens a world of its own on a devnet. */
export async function openWorld(devnet: Devnet, settings: WorldOptions = {}): Promise<World> {
  const folder = await mkdtemp(join(tmpdir(), 'x402-faults-'))
  const proxy = await startRpcProxy(devnet.rpcUrl, { hasSync: settings.hasSync ?? false })
  const { ledger = join(folder, 'ledger.db'), oracleLedger = ledger } = settings
  const { lockMs = HOLD_MS } = settings
  const relayers = Array.from({ length: settings.relayers ?? 1 }, () => {
    const key = newNonce()
    return { key, address: privateKeyToAddress(key) }
  })
  const merchantKey = newNonce()
  const merchant: Hex = privateKeyToAddress(merchantKey)
  const node = async <T>(method: string, ...params: unknown[]): Promise<T> => {
    const [result] = await sendBatch(devnet.rpcUrl, [[method, ...params]])
    return result as T
  }
  for (const { address } of relayers) await node('anvil_setBalance', address, ONE_ETHER)
  const executor = executorOf(relayers.map(({ address }) => address))
  const hasExecutor = settings.network?.executor !== undefined
  if (hasExecutor) await node('anvil_setCode', executor.address, executor.code)
  const maxima = new Map<string, bigint>()

  const answers: Answer[] = []
  const gateways: GatewayProcess[] = []
  let next = 0
  let visits = 0
  const offer = offerOf(devnet, { payTo: merchant })

  const present: World['present'] = async (gateway, payment, how = {}) => {
    const authorization = authorizationOf(keyOf(payment))
    const visit: Visit = typeof how === 'string' ? { path: how } : how
    const { scheme, amount: signed } = acceptedOf(payment)
    const isMetered = scheme === 'upto'
    if (isMetered) maxima.set(authorization, BigInt(signed))
    const path = visit.path ?? '/report'
    const { patienceMs, key } = visit
    const name = String(++visits)
    const signal = AbortSignal.timeout(patienceMs ?? CLIENT_TIMEOUT_MS)
    const { charge = isMetered ? BigInt(signed) : undefined } = visit
    const headers = {
      ...visit.headers,
      'x-test-visit': name,
      ...(visit.charge !== undefined && { 'x-test-charge': String(visit.charge) }),
    }
    const request = { payment, path, key, signal, headers, charge }
    const told = await (
      path === 'settle' ? settleOver(gateway, request) : payFor(gateway, request)
    ).catch(() => ({ status: 0, delivered: false }))
    const gaveUp = told.status === 0 && patienceMs !== undefined && signal.aborted
    const answer = {
      ...{ authorization, visit: name, path, hasKey: key !== undefined, gaveUp },
      ...(path === 'settle' && { charge }),
      ...told,
    }
    answers.push(answer)
    return answer
  }
  const presentUntilDecided: World['presentUntilDecided'] = async (gateway, payment, visit) => {
    for (;;) {
      const at = typeof gateway === 'function' ? await gateway() : gateway
      const answer = await present(at, payment, visit)
      if (!isOpen(answer)) return answer
      await sleep(RETRY_MS)
    }
  }

  const openLedger = (): LedgerStore =>
    oracleLedger.startsWith('postgres')
      ? openPostgresLedger(oracleLedger)
      : openSqliteLedger(oracleLedger)
  const records = async (): Promise<readonly LedgerRecord[]> => {
    if (oracleLedger === 'memory') return []
    const opened = openLedger()
    try {
      const all = { limit: 1_000_000 }
      const shop = await opened.payments.list({ project: 'shop', ...all })
      if (settings.other === undefined) return shop
      return [...shop, ...(await opened.payments.list({ project: 'other', ...all }))]
    } finally {
      await opened.close()
    }
  }
  const evidence = async (): Promise<Evidence> => ({
    answers,
    transfers: await readTransfers(devnet.rpcUrl, { asset: devnet.asset, merchant }),
    records: await records(),
    price: BigInt(offer.amount),
    maxima,
    processes: gateways,
    damage: /^(postgres|memory$)/.test(oracleLedger) ? [] : damageOf(oracleLedger),
  })

  return {
    devnet,
    proxy,
    merchant,
    merchantKey,
    relayers,
    ledger,
    token: TOKEN,
    offer,
    answers,
    gateways,
    async start({ options, network, diesIn, closeMs = settings.closeMs } = {}) {
      const gateway = await startGateway({
        network: {
          rpcUrl: proxy.url,
          relayerKeys: relayers.map(({ key }) => key),
          ...settings.network,
          ...network,
        },
        payTo: merchant,
        token: TOKEN,
        other: settings.other,
        ledger,
        lockMs,
        closeMs,
        diesIn,
        options: { settleTimeoutMs: 20_000, ...settings.options, ...options },
      })
      gateways.push(gateway)
      return gateway
    },
    sign: (overrides, payer = devnet.payers[next++ % devnet.payers.length]!) => {
      // As each 402 offers it: its buyer is known by that when he comes again.
      const extra = { ...offer.extra, offerId: randomBytes(16).toString('base64url') }
      return signPayment(payer, { ...offer, extra }, overrides)
    },
    async signPermit({ payer = devnet.payers[next++ % devnet.payers.length]!, ...how } = {}) {
      const { facilitator } = how
      const payment = await signPermit(payer, {
        ...offer,
        scheme: facilitator ? 'upto' : 'exact',
        extra: {
          ...offer.extra,
          assetTransferMethod: 'permit2',
          ...(facilitator && { facilitatorAddress: facilitator }),
          offerId: randomBytes(16).toString('base64url'),
        },
      })
      return how.isSponsored ? withApproval(devnet, payer, payment) : payment
    },
    facilitators: [
      ...relayers.map(({ address }) => address),
      ...(hasExecutor ? [executor.address] : []),
    ],
    async approve(payers = devnet.payers) {
      const { approve } = permit2Of(devnet)
      await Promise.all(payers.map(({ address }) => approve(address)))
    },
    present,
    presentUntilDecided,
    presentAll: (gateway, payments, visit) =>
      Promise.all(payments.map((payment) => presentUntilDecided(gateway, payment, visit))),
    node,
    evidence,
    async violations() {
      await Promise.all(gateways.map((gateway) => gateway.kill()))
      const seen = await evidence()
      const delivered = new Set(
        seen.answers.filter((answer) => answer.delivered).map(({ authorization }) => authorization),
      )
      // What the dead still seem to hold was delivered, or not: time tells.
      if (!seen.transfers.every(({ authorization }) => delivered.has(authorization)))
        await sleep(lockMs * 1.5)
      return findViolations(await evidence())
    },
    records,
    async revenue() {
      const opened = openLedger()
      try {
        const groups = await opened.payments.sumRevenue({
          ...{ project: 'shop', from: 0, until: Date.now() + 1000, by: 'asset' },
        })
        return groups.reduce((sum, { amount }) => sum + amount, 0n)
      } finally {
        await opened.close()
      }
    },
    balance: () => permit2Of(devnet).balanceOf(merchant),
    async close() {
      await Promise.all(gateways.map((gateway) => gateway.kill()))
      await proxy.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** What SQLite finds wrong with a file. */
function damageOf(file: string): readonly string[] {
  const database = new (loadSqlite())(file)
  try {
    const rows = database.prepare('PRAGMA integrity_check').all()
    const complaints = rows.map((row) => (row as { integrity_check: string }).integrity_check)
    return complaints.filter((complaint) => complaint !== 'ok')
  } finally {
    database.close()
  }
}

type Told = Omit<Answer, 'authorization' | 'visit' | 'path' | 'hasKey' | 'gaveUp' | 'charge'>

const acceptedOf = ({ accepted }: PaymentPayload): PaymentRequirements =>
  accepted as unknown as PaymentRequirements

/** A payment on its way to a gateway. */
interface PaymentRequest {
  readonly payment: PaymentPayload
  readonly path: string
  readonly key: string | undefined
  readonly signal: AbortSignal
  readonly headers: Readonly<Record<string, string>>
  /** Token units to take of a metered payment. */
  readonly charge: bigint | undefined
}

async function payFor(
  gateway: AtUrl,
  { payment, path, key, signal, headers }: PaymentRequest,
): Promise<Told> {
  const extensions = {
    ...payment.extensions,
    'payment-identifier': { info: { required: false, id: key } },
  }
  const presented = key === undefined ? payment : { ...payment, extensions }
  const response = await fetch(gateway.url + path, {
    headers: { ...headers, ...paymentHeader(presented) },
    signal,
  })
  const body = (await response.json()) as {
    error?: string
    code?: string
    good?: string
    free?: boolean
  }
  const { status } = response
  const header = response.headers.get('payment-response')
  const settlement =
    header === null ? {} : decodeDocument<{ transaction?: string; amount?: string }>(header)
  const isFree = body.free === true
  return {
    status,
    delivered: status === 200 && !isFree,
    isFree,
    good: body.good,
    reason: isFree ? 'waived' : (body.error ?? body.code),
    transaction: settlement.transaction,
    amount: settlement.amount,
  }
}

async function settleOver(
  gateway: AtUrl,
  { payment, key, signal, headers, charge }: PaymentRequest,
): Promise<Told> {
  const accepted = acceptedOf(payment)
  const { offerId: _offerId, ...extra }: Readonly<Record<string, unknown>> = accepted.extra ?? {}
  const amount = charge === undefined ? accepted.amount : String(charge)
  const paymentRequirements = { ...accepted, extra, amount }
  const response = await fetch(`${gateway.url}/api/v2/payment/settle`, {
    method: 'POST',
    headers: {
      ...headers,
      'content-type': 'application/json',
      'x-project-identify-token': TOKEN,
      ...(key !== undefined && { 'idempotency-key': key }),
    },
    body: JSON.stringify({ paymentPayload: payment, paymentRequirements }),
    signal,
  })
  const body = (await response.json()) as {
    success?: boolean
    errorReason?: string
    code?: string
    transaction?: string
    amount?: string
  }
  const delivered = body.success === true
  return {
    status: response.status,
    delivered,
    good: delivered ? body.transaction : undefined,
    amount: delivered ? body.amount : undefined,
    // A 502 without a reason decides nothing.
    reason: body.errorReason ?? (response.status === 502 ? undefined : body.code),
    transaction: body.transaction,
  }
}
