import { encodeFunctionData, parseAbi, parseErc6492Signature, toHex } from 'viem/utils'
import { privateKeyToAddress } from 'viem/accounts'
import { sendBatch } from '../../../../src/tools/devnet/send-batch.js'
import type { Hex } from '../../../../src/shared/protocol/payment.js'
import { ERC6492_MAGIC, type Form, wrapErc6492 } from '../forms.js'
import type { Kind } from '../kind.js'
import type { Verdict } from '../mutation.js'
import { erc3009 } from './erc3009.js'

const FACTORY: Hex = '0x0000000000000000000000000000000000006492'
const factory = parseAbi([
  'function createAccount(address owner, uint256 nonce) returns (address)',
  'function getAddress(address owner, uint256 nonce) view returns (address)',
])
const call = (functionName: 'createAccount' | 'getAddress', owner: Hex, nonce = 0n): Hex =>
  encodeFunctionData({ abi: factory, functionName, args: [owner, nonce] })

interface Wrapper {
  readonly factory: Hex
  readonly data: Hex
  readonly signature: Hex
}

/** Changes parts of a wrapper. */
const form = (
  name: string,
  verdict: Verdict,
  change: (wrapper: Wrapper, other: Wrapper) => Partial<Wrapper>,
): Form => ({
  name,
  verdict,
  write: (value, another) => {
    const wrapper = unwrap(value)
    const changed = { ...wrapper, ...change(wrapper, unwrap(another)) }
    return wrapErc6492(changed.signature, changed.factory, changed.data)
  },
})

function unwrap(value: string): Wrapper {
  const { address, data, signature } = parseErc6492Signature(value as Hex)
  return { factory: address!, data: data!, signature }
}

/** `exact` by ERC-3009, signed for an account that its factory has not deployed yet (ERC-6492). */
export const counterfactual: Kind = {
  ...erc3009,
  name: 'counterfactual',
  async pay(payer, entry, terms) {
    const payment = await erc3009.pay(payer, entry, terms)
    const { signature } = payment.payload as { signature: Hex }
    const data = call('createAccount', privateKeyToAddress(payer.privateKey))
    const wrapped = wrapErc6492(signature, FACTORY, data)
    return { ...payment, payload: { ...payment.payload, signature: wrapped } }
  },
  async accountsOf(devnet, owners) {
    const asked = owners.map(
      (owner) => ['eth_call', { to: FACTORY, data: call('getAddress', owner) }, 'latest'] as const,
    )
    const words = (await sendBatch(devnet.rpcUrl, asked)) as Hex[]
    return words.map((word): Hex => `0x${word.slice(-40)}`)
  },
  signatureForms: [
    form('a longer call', 'accepted', ({ data }) => ({ data: `${data}00` })),
    // Once the account is deployed, by the honest payment beside it, its wrapper does not matter.
    form('another factory', 'either', () => ({ factory: `0x${'fac7'.repeat(10)}` })),
    form('a call of the token', 'either', () => ({
      factory: '0x036cbd53842c5426634e7929541ec2318f3dcf7e',
    })),
    form('another account of its owner', 'either', ({ data }) => ({
      data: `${data.slice(0, -1)}1` as Hex,
    })),
    form('no call', 'either', () => ({ data: '0x' })),
    form('a long call', 'either', ({ data }) => ({ data: `${data}${'00'.repeat(1000)}` as Hex })),
    { name: 'no wrapper', verdict: 'either', write: (value) => unwrap(value).signature },
    form('the signature of another payment', 'refused', (_own, other) => other),
    form('a shorter signature', 'refused', ({ signature }) => ({
      signature: signature.slice(0, -2) as Hex,
    })),
    form('a longer signature', 'refused', ({ signature }) => ({ signature: `${signature}00` })),
    form('no signature', 'refused', () => ({ signature: '0x' })),
    form('zeros', 'refused', () => ({ signature: toHex(0, { size: 65 }) })),
    {
      name: 'a wrapper within a wrapper',
      verdict: 'refused',
      write: (value) => wrapErc6492(value as Hex, FACTORY, unwrap(value).data),
    },
    {
      name: 'a truncated wrapper',
      verdict: 'refused',
      write: (value) => value.slice(0, 66) + ERC6492_MAGIC.slice(2),
    },
    {
      name: 'a wrapper without its first word',
      verdict: 'refused',
      write: (value) => `0x${value.slice(66)}`,
    },
    { name: 'the mark of a wrapper alone', verdict: 'refused', write: () => ERC6492_MAGIC },
  ],
}
