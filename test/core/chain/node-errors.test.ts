import { describe, expect, it } from '@jest/globals'
import { classifyNodeError, nodeWords } from '../../../src/core/chain/node-errors.js'

const send = (message: string, code = -32000) => classifyNodeError({ code, message }, 'send')
const read = (message: string, code = -32000) => classifyNodeError({ code, message }, 'read')
const sync = (message: string, code = -32000) => classifyNodeError({ code, message }, 'sync')

describe('the words of node errors (rule 16)', () => {
  it.each([
    ['geth', 'already known', 'already_known'],
    ['Nethermind', 'AlreadyKnown', 'already_known'],
    ['Besu', 'Known transaction', 'already_known'],
    ['OpenEthereum', 'Transaction with the same hash was already imported.', 'already_known'],
    ['geth', 'transaction underpriced', 'fee_too_low'],
    ['geth', 'max fee per gas less than block base fee: address 0x1', 'fee_too_low'],
    ['Besu', 'Gas price below current base fee', 'fee_too_low'],
    ['Nethermind', 'FeeTooLow, MaxFeePerGas too low', 'fee_too_low'],
    ['geth', 'nonce too low: next nonce 5, tx nonce 4', 'stale_nonce'],
    ['geth', 'replacement transaction underpriced', 'stale_nonce'],
    ['Nethermind', 'OldNonce, Current nonce: 5', 'stale_nonce'],
    ['geth', 'insufficient funds for gas * price + value', 'insufficient_gas_funds'],
    ['Besu', 'Upfront cost exceeds account balance', 'insufficient_gas_funds'],
    ['a proxy', 'upstream request timed out', 'ambiguous'],
    ['a policy', 'this transaction is not allowed by policy', 'other'],
    ['geth', 'exceeds block gas limit', 'never_valid'],
    ['geth', 'tx fee (1.20 ether) exceeds the configured cap (1.00 ether)', 'never_valid'],
    ['anvil', 'intrinsic gas too low', 'never_valid'],
    ['Monad', 'Signer had insufficient balance', 'insufficient_gas_funds'],
    ['geth', 'txpool is full', 'pool_full'],
    ['geth', 'account limit exceeded: pooled 16 txs', 'pool_full'],
    ['Reth', 'in-flight transaction limit reached for delegated accounts', 'pool_full'],
    ['geth', 'gapped-nonce tx from delegated accounts', 'pool_full'],
    ['geth', 'future transaction tries to replace pending transaction', 'pool_full'],
    ['Hardhat', 'Nonce too high. Expected nonce to be 4 but got 5.', 'pool_full'],
    ['Arc', 'request limit reached', 'rate_limited'],
    ['Alchemy', 'Monthly capacity limit exceeded.', 'rate_limited'],
    ['proxyd', 'no backend is currently healthy to serve traffic', 'not_ready'],
  ])('classify how %s rejects a transaction: %s', (_client, message, kind) => {
    expect(send(message)).toBe(kind)
  })

  it.each([
    [-32005, 'whatever', 'rate_limited'],
    [-32016, 'whatever', 'rate_limited'],
    [429, 'try again later', 'rate_limited'],
    [-32011, 'whatever', 'not_ready'],
    [-32011, 'request limit reached', 'rate_limited'],
  ])('classify the code %s with the words "%s"', (code, message, kind) => {
    expect(send(message, code)).toBe(kind)
    expect(read(message, code)).toBe(kind)
  })

  it('classify an internal error as the refusal of a transaction only if its words are known', () => {
    expect(send('something broke', -32603)).toBe('ambiguous')
    expect(send('nonce too low', -32603)).toBe('stale_nonce')
    expect(send('already known', -32603)).toBe('already_known')
  })

  it.each([
    ['geth', 'execution reverted: try again after the deadline', 3, 'reverted'],
    ['Besu', 'Execution reverted', -32000, 'reverted'],
    ['Hardhat', 'VM Exception while processing transaction: revert', -32603, 'reverted'],
    ['geth', 'gas required exceeds allowance (0)', -32000, 'reverted'],
    ['Infura', 'query returned more than 10000 results', -32005, 'range_too_large'],
    ['QuickNode', 'eth_getLogs is limited to a 10,000 range', -32614, 'range_too_large'],
    ['Alchemy', 'You can make eth_getLogs requests with up to a 2K block range', -32600, 'other'],
    ['Infura', 'daily request count exceeded, request rate limited', -32005, 'rate_limited'],
    ['geth', 'execution aborted (timeout = 5s)', -32000, 'ambiguous'],
    ['geth', 'header not found', -32000, 'not_ready'],
  ])('classify how %s fails a call: %s', (_client, message, code, kind) => {
    expect(read(message, code)).toBe(kind)
  })

  it.each([
    ['JSON-RPC', 'whatever', -32601],
    ['geth', 'the method eth_sendRawTransactionSync does not exist/is not available', -32000],
    ['Alchemy', 'Unsupported method: eth_sendRawTransactionSync', -32600],
    ['Cloudflare', 'rpc method is not whitelisted', -32000],
    ['Reth', "method isn't supported", -32000],
  ])('classify how %s reports a missing method', (_client, message, code) => {
    expect(sync(message, code)).toBe('unknown_method')
  })

  it.each(['transaction type not supported', 'sender is not allowed', 'not allowed', 'not found'])(
    'read "%s" as about a transaction, not about a method',
    (message) => {
      expect(sync(message)).toBe('other')
    },
  )
})

describe('a node’s message in the log (rule 13)', () => {
  it('is bounded, without control characters and URLs', () => {
    const message = `slow\u001b[31m down\r\nsee https://node.example/v2/key ${'x'.repeat(500)}`
    const words = nodeWords({ redacted: message, code: -32005 })
    expect(words).toMatch(/^slow \[31m down see \[url\] x+… \(-32005\)$/)
    expect(words.length).toBeLessThan(220)
  })
})
