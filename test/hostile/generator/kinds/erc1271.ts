import { encodeFunctionData, parseAbi } from 'viem/utils'
import { aggregate } from '../../../../src/core/chain/abi.js'
import { MINTER } from '../../../../src/tools/devnet/mint.js'
import { sendBatch } from '../../../../src/tools/devnet/send-batch.js'
import type { Hex } from '../../../../src/shared/protocol/payment.js'
import { askNode } from '../../../support/core.js'
import { untilMined } from '../../../support/on-chain.js'
import { SIGNATURE_FORMS } from '../forms.js'
import type { Kind } from '../kind.js'
import { erc3009 } from './erc3009.js'

const factory = parseAbi([
  'function createAccount(address owner, uint256 nonce) returns (address)',
  'function getAddress(address owner, uint256 nonce) view returns (address)',
])

/** `exact` by ERC-3009, signed for an account that is a contract (ERC-1271). */
export const erc1271: Kind = {
  ...erc3009,
  name: 'erc1271',
  async accountsOf(devnet, owners) {
    const call = (functionName: 'createAccount' | 'getAddress', owner: Hex) => ({
      to: devnet.accountFactory,
      data: encodeFunctionData({ abi: factory, functionName, args: [owner, 0n] }),
    })
    const data = aggregate(owners.map((owner) => call('createAccount', owner)))
    const transaction = { from: MINTER, to: devnet.multicall3, gas: '0x1c00000', data }
    await untilMined(devnet, await askNode(devnet, 'eth_sendTransaction', transaction))
    const asked = owners.map((owner) => ['eth_call', call('getAddress', owner), 'latest'] as const)
    const words = (await sendBatch(devnet.rpcUrl, asked)) as Hex[]
    return words.map((word): Hex => `0x${word.slice(-40)}`)
  },
  // The account decides what it takes; where it has code, its wrapper does not matter.
  signatureForms: SIGNATURE_FORMS.map((form) => {
    if (form.name === 'a wrapper of ERC-6492') return { ...form, verdict: 'accepted' }
    return / s | s$|^v of 0|64 bytes/.test(form.name) && form.verdict === 'accepted'
      ? { ...form, verdict: 'either' }
      : form
  }),
}
