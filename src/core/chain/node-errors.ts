/**
 * Classifies the errors of nodes.
 *
 * JSON-RPC fixes few codes, and each client words its errors in its own way. Every decision by such
 * words is in this table. It reads the node's *raw* message: errors and logs are redacted, and
 * redaction may remove the very word that matters.
 */
import { ChainError } from '../../shared/errors.js'
import { oneLine } from '../../shared/protocol/visible-text.js'

export interface RpcFailure {
  readonly code: number
  /** As the node wrote it, perhaps with the key of its URL: only for classification, never shown. */
  readonly message: string
  /** The message without URL and keys. */
  readonly redacted: string
  readonly data?: unknown
}

/** How nodes express one kind of error. */
interface Wording {
  readonly codes?: readonly number[]
  readonly words: RegExp
}

/** The meanings of errors. The comments name the clients that each wording comes from. */
const WORDINGS = {
  /** A contract reverted; the node did its work. */
  // Code 3 is geth's, Erigon's, Nethermind's and anvil's; the words are Besu's ("Execution
  // reverted"), Hardhat's ("VM Exception … revert"), OpenEthereum's ("VM execution error"), and
  // every EVM's for its other failures ("out of gas", "invalid opcode", "stack underflow").
  reverted: {
    codes: [3],
    words:
      /revert|vm execution|vm exception|out ?of ?gas|gas required exceeds|invalid ?(fe)?opcode|opcode ?not ?found|invalid ?jump|stack ?(under|over)flow|stack limit|write protection/i,
  },
  /** The node has this transaction already. */
  // geth, Erigon, anvil: "already known"; Nethermind: "AlreadyKnown"; Besu: "Known transaction";
  // OpenEthereum: "already imported"; Reth: "already known"; zkSync: "already exists".
  already_known: {
    words: /already ?(known|exists|imported)|known ?transaction|transaction ?already ?in ?mempool/i,
  },
  /** The transaction offers less for gas than a block demands. */
  // geth: "transaction underpriced", "max fee per gas less than block base fee"; Nethermind:
  // "FeeTooLow"; Besu: "gas price below current base fee"; Arbitrum: "max fee per gas less than
  // block base fee"; Reth and anvil: "max fee per gas less than block base fee".
  fee_too_low: {
    words: /underpriced|below (current )?base ?fee|less than (block )?base ?fee|fee ?too ?low/i,
  },
  /** The account nonce is used, or a transaction with the same nonce offers more. */
  // geth, Reth, anvil, Besu: "nonce too low", "replacement transaction underpriced"; Nethermind:
  // "OldNonce", "ReplacementNotAllowed"; Parity: "same nonce in the queue".
  stale_nonce: {
    words:
      /nonce ?(is )?too ?low|old ?nonce|replacement transaction underpriced|replacement ?not ?allowed|same nonce/i,
  },
  /** The account cannot pay for gas. */
  // geth, Reth: "insufficient funds for gas * price + value"; anvil: "Insufficient funds for gas";
  // Besu: "Upfront cost exceeds account balance"; Nethermind: "InsufficientFunds"; Monad: "Signer had
  // insufficient balance".
  insufficient_gas_funds: {
    words: /insufficient ?funds|insufficient balance|upfront cost exceeds/i,
  },
  /** The pool takes no more transactions for now: of anybody, of this account, or with this nonce. */
  // geth: "txpool is full", "account limit exceeded", "in-flight transaction limit reached for
  // delegated accounts", "gapped-nonce tx from delegated accounts", "future transaction tries to
  // replace pending transaction", "address already reserved"; Reth: "txpool is full"; Hardhat, zkSync:
  // "nonce too high"; Besu: "NONCE_TOO_FAR_IN_FUTURE_FOR_SENDER"; Erigon: "pending pool is full".
  pool_full: {
    words:
      /pool (is )?(full|overflow)|in-?flight|gapped[- ]nonce|account limit exceeded|nonce ?(is )?too ?high|nonce_too_far|future transaction|already reserved/i,
  },
  /** The bytes are no transaction that this node ever takes. */
  // geth: "intrinsic gas too low", "floor data gas cost", "exceeds block gas limit", "transaction gas
  // limit too high", "tx fee (1.2 ether) exceeds the configured cap", "oversized data", "transaction
  // type not supported", "invalid sender", "rlp: …"; anvil, Reth: "intrinsic gas too low".
  never_valid: {
    words:
      /intrinsic ?gas|floor data gas|exceeds (the )?block gas limit|gas limit too high|exceeds the configured cap|oversized data|transaction type not supported|invalid (sender|signature|chain ?id)|\brlp: /i,
  },
  /** The node does not have the method. */
  // JSON-RPC, EIP-1474; geth: "the method … does not exist/is not available"; Alchemy:
  // "Unsupported method"; Cloudflare, Ankr: "method is not whitelisted". It must speak of a method:
  // "not allowed" and "not supported" are also said of transactions.
  unknown_method: {
    codes: [-32601, -32004],
    words:
      /\bmethods?\b.{0,80}(\bnot\b|n't\b|\bunknown\b|\bunsupported\b|\bunavailable\b|\bdisabled\b)|\b(unknown|unsupported|no such|invalid) (rpc )?method\b|\beth_\w+\b.{0,40}\bnot (supported|available|allowed|found|implemented|whitelisted)/i,
  },
  /** The request covers more blocks or logs than the node serves at once. */
  // Infura: "query returned more than 10000 results"; Alchemy: "block range"; QuickNode: "limited to
  // a 10,000 range"; Erigon, Reth: "query exceeds max block range"; publicnode: "range is too large".
  range_too_large: {
    words:
      /(block )?range.{0,60}(large|wide|exceed|limit|max)|(exceed|limited).{0,60}range|more than \d+ (results|logs)|too many (results|logs|blocks)|response size/i,
  },
  /** Too many requests: the node refuses all of them for a while. */
  // EIP-1474 "limit exceeded"; HTTP's 429 (Infura, Alchemy); proxyd's -32016 and -32012, and what
  // they say with it: Alchemy "monthly capacity limit exceeded", Arc "request limit reached".
  rate_limited: {
    codes: [-32005, 429, -32016, -32012],
    words:
      /rate ?limit|request limit|capacity|too many requests|compute units|request count exceeded|quota/i,
  },
  /** A node behind the URL is behind the others, or none of them answers just now. */
  // geth, Erigon: "header not found"; Nethermind: "header for hash not found"; proxyd: -32011 "no
  // backend is currently healthy to serve traffic".
  not_ready: { codes: [-32011], words: /header (for hash )?not found|\bbackends?\b/i },
  /** The node may have done what it was asked to do. */
  // Any node, or a proxy before it, that gave up waiting.
  ambiguous: { words: /timeout|timed out|deadline|internal error|unavailable|try again/i },
} as const satisfies Record<string, Wording>

export type NodeErrorKind = keyof typeof WORDINGS | 'other'

/** JSON-RPC's internal error: something broke in the node, at an unknown point. */
const INTERNAL_ERROR = -32603

/**
 * The possible meanings of an error by the kind of request; the first match counts.
 *
 * A contract words its revert itself, so `reverted` comes before all other meanings of a read. For a
 * transaction, everything that may mean that the node has it comes first.
 */
const MEANINGS = {
  read: ['reverted', 'unknown_method', 'range_too_large', 'rate_limited', 'not_ready', 'ambiguous'],
  send: [
    'already_known',
    // Before words like "try again": these say that the node did not look at the transaction.
    'rate_limited',
    'pool_full',
    'not_ready',
    'ambiguous',
    'unknown_method',
    'stale_nonce',
    'insufficient_gas_funds',
    'fee_too_low',
    'never_valid',
  ],
  /** `eth_sendRawTransactionSync`, which not every node has. */
  sync: ['unknown_method'],
} as const satisfies Record<string, readonly (keyof typeof WORDINGS)[]>

/**
 * Classifies a node's error.
 *
 * @param asked - The kind of request that failed.
 */
export function classifyNodeError(
  failure: Pick<RpcFailure, 'code' | 'message'>,
  asked: keyof typeof MEANINGS,
): NodeErrorKind {
  for (const kind of MEANINGS[asked]) {
    const { codes, words }: Wording = WORDINGS[kind]
    if (codes?.includes(failure.code) || words.test(failure.message)) return kind
  }
  // Some nodes use this code for every refusal of a transaction: it counts where the words say nothing.
  return asked === 'send' && failure.code === INTERNAL_ERROR ? 'ambiguous' : 'other'
}

/** Whether a node refuses to answer for the moment: the same question may be answered soon. */
export function isThrottled(failure: Pick<RpcFailure, 'code' | 'message'>): boolean {
  const kind = classifyNodeError(failure, 'read')
  return kind === 'rate_limited' || kind === 'not_ready'
}

/** Most characters of a node's words in an error or a log. */
const MOST_WORDS = 200

/** A node's message, made fit for a log: a stranger may have written it. */
export function nodeWords({ redacted, code }: Pick<RpcFailure, 'redacted' | 'code'>): string {
  const text = redacted.replace(/\b[a-z][a-z0-9+.-]*:\/\/\S+/gi, '[url]')
  return `${oneLine(text, MOST_WORDS)} (${code})`
}

export function refusedByNode(failure: RpcFailure): ChainError {
  const isMomentary = isThrottled(failure)
  return new ChainError(
    isMomentary ? 'chain_unreachable' : 'chain_refused',
    isMomentary ? 'The node takes no more requests for now.' : 'The node refused a request.',
    { cause: new Error(nodeWords(failure)) },
  )
}

export function unusable(what: string): ChainError {
  return new ChainError('chain_refused', `The node answered ${what}.`)
}
