/**
 * What nodes mean by their errors.
 *
 * JSON-RPC fixes few codes, and each client words its errors in its own way. Everything that is
 * decided by such words is in this table. It reads the node's *raw* words: what is written into
 * errors and logs is redacted, and redaction may cut the very word that matters out of them.
 */
import { ChainError } from '../errors.js'

/** A node's own refusal of one request. */
export interface RpcFailure {
  readonly code: number
  /** As the node wrote it, perhaps with the key of its URL in it: to be classified, never shown. */
  readonly message: string
  /** The message without URL and keys. */
  readonly redacted: string
  readonly data?: unknown
}

/** What an error of a node means. */
export type NodeErrorKind =
  /** A contract failed; the node did its work. */
  | 'reverted'
  /** The node has this transaction already. */
  | 'already_known'
  /** Offers less for gas than a block takes. */
  | 'fee_too_low'
  /** Its account nonce is used, or a transaction with the same one offers more. */
  | 'stale_nonce'
  | 'insufficient_gas_funds'
  | 'unknown_method'
  /** Asks for more blocks or logs than the node looks through at once. */
  | 'range_too_large'
  /** Too many requests: all of them are refused for a while. */
  | 'rate_limited'
  /** The node may have done what it was asked for. */
  | 'ambiguous'
  | 'other'

/** One way in which nodes say something. */
interface Wording {
  readonly kind: NodeErrorKind
  readonly codes?: readonly number[]
  readonly words?: RegExp
}

/** The clients in the comments are those that the wording comes from. */
const WORDINGS: readonly Wording[] = [
  // Code 3 is geth's, Erigon's, Nethermind's and anvil's; the words are Besu's ("Execution
  // reverted"), Hardhat's ("VM Exception … revert"), OpenEthereum's ("VM execution error"), and
  // every EVM's for its other failures ("out of gas", "invalid opcode", "stack underflow").
  {
    kind: 'reverted',
    codes: [3],
    words:
      /revert|vm execution|vm exception|out ?of ?gas|gas required exceeds|invalid ?(fe)?opcode|opcode ?not ?found|invalid ?jump|stack ?(under|over)flow|stack limit|write protection/i,
  },
  // geth, Erigon, anvil: "already known"; Nethermind: "AlreadyKnown"; Besu: "Known transaction";
  // OpenEthereum: "already imported"; Reth: "already known"; zkSync: "already exists".
  {
    kind: 'already_known',
    words: /already ?(known|exists|imported)|known ?transaction|transaction ?already ?in ?mempool/i,
  },
  // geth: "transaction underpriced", "max fee per gas less than block base fee"; Nethermind:
  // "FeeTooLow"; Besu: "gas price below current base fee"; Arbitrum: "max fee per gas less than
  // block base fee"; Reth and anvil: "max fee per gas less than block base fee".
  {
    kind: 'fee_too_low',
    words: /underpriced|below (current )?base ?fee|less than (block )?base ?fee|fee ?too ?low/i,
  },
  // geth, Reth, anvil, Besu: "nonce too low", "replacement transaction underpriced"; Nethermind:
  // "OldNonce", "ReplacementNotAllowed"; Parity: "same nonce in the queue".
  {
    kind: 'stale_nonce',
    words:
      /nonce ?(is )?too ?low|old ?nonce|replacement transaction underpriced|replacement ?not ?allowed|same nonce/i,
  },
  // geth, Reth: "insufficient funds for gas * price + value"; anvil: "Insufficient funds for gas";
  // Besu: "Upfront cost exceeds account balance"; Nethermind: "InsufficientFunds".
  {
    kind: 'insufficient_gas_funds',
    words: /insufficient ?funds|upfront cost exceeds/i,
  },
  // JSON-RPC, EIP-1474; geth: "the method … does not exist/is not available"; Alchemy:
  // "Unsupported method"; Cloudflare, Ankr: "method is not whitelisted". It must speak of a method:
  // "not allowed" and "not supported" are also said of transactions.
  {
    kind: 'unknown_method',
    codes: [-32601, -32004],
    words:
      /\bmethods?\b.{0,80}(\bnot\b|n't\b|\bunknown\b|\bunsupported\b|\bunavailable\b|\bdisabled\b)|\b(unknown|unsupported|no such|invalid) (rpc )?method\b|\beth_\w+\b.{0,40}\bnot (supported|available|allowed|found|implemented|whitelisted)/i,
  },
  // Infura: "query returned more than 10000 results"; Alchemy: "block range"; QuickNode: "limited to
  // a 10,000 range"; Erigon, Reth: "query exceeds max block range"; publicnode: "range is too large".
  {
    kind: 'range_too_large',
    words:
      /(block )?range.{0,60}(large|wide|exceed|limit|max)|(exceed|limited).{0,60}range|more than \d+ (results|logs)|too many (results|logs|blocks)|response size/i,
  },
  // EIP-1474 "limit exceeded", HTTP's 429 as a code (Infura, Alchemy), and what they say with it.
  {
    kind: 'rate_limited',
    codes: [-32005, 429],
    words: /rate ?limit|too many requests|compute units|request count exceeded|quota/i,
  },
  // Any node, or a proxy before it, that gave up waiting.
  {
    kind: 'ambiguous',
    words: /timeout|timed out|deadline|internal error|unavailable|try again/i,
  },
]

/** JSON-RPC's internal error: something broke in the node, nobody knows when. */
const INTERNAL_ERROR = -32603

/**
 * What an error may mean, by what was asked; of several meanings the first counts.
 *
 * A contract words its revert itself, so that nothing else is read into one. Of a transaction,
 * whatever may mean that the node has taken it comes first.
 */
const MEANINGS = {
  read: ['reverted', 'unknown_method', 'range_too_large', 'rate_limited', 'ambiguous'],
  send: [
    'already_known',
    'ambiguous',
    'unknown_method',
    'rate_limited',
    'stale_nonce',
    'insufficient_gas_funds',
    'fee_too_low',
  ],
  /** A transaction was handed over by a method that not every node has. */
  sync: ['unknown_method'],
} as const satisfies Record<string, readonly NodeErrorKind[]>

/**
 * Tells what a node's error means.
 *
 * @param asked - What for: to read something, or to take a transaction.
 */
export function classifyNodeError(
  failure: Pick<RpcFailure, 'code' | 'message'>,
  asked: keyof typeof MEANINGS,
): NodeErrorKind {
  const meanings: readonly NodeErrorKind[] = MEANINGS[asked]
  for (const kind of meanings) {
    const wording = WORDINGS.find((one) => one.kind === kind)
    if (wording?.codes?.includes(failure.code) || wording?.words?.test(failure.message)) return kind
    // Whatever words come with it.
    if (asked === 'send' && kind === 'ambiguous' && failure.code === INTERNAL_ERROR) return kind
  }
  return 'other'
}

/** The error for a request that a node refused. */
export function refusedByNode(failure: RpcFailure): ChainError {
  const isAway = classifyNodeError(failure, 'read') === 'rate_limited'
  return new ChainError(
    isAway ? 'chain_unreachable' : 'chain_refused',
    isAway ? 'The node takes no more requests for now.' : 'The node refused a request.',
    { cause: new Error(`${failure.redacted} (${failure.code})`) },
  )
}

/** The error for an answer that nobody can use. */
export function unusable(what: string): ChainError {
  return new ChainError('chain_refused', `The node answered ${what}.`)
}
