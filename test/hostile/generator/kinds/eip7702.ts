import { concatHex } from 'viem/utils'
import { sendBatch } from '../../../../src/tools/devnet/send-batch.js'
import { ownKeyDelegateCode } from '../../../tools/devnet/hostile-code.js'
import { deploy } from '../../../support/contracts.js'
import { SIGNATURE_FORMS } from '../forms.js'
import type { Kind } from '../kind.js'
import { erc3009 } from './erc3009.js'

/** What an account's code is while it delegates to another one's. */
const DELEGATION = '0xef0100'

/** `exact` by ERC-3009, signed by an account's own key, which delegates to a contract (EIP-7702). */
export const eip7702: Kind = {
  ...erc3009,
  name: 'eip7702',
  async accountsOf(devnet, owners) {
    const delegate = await deploy(devnet, ownKeyDelegateCode)
    const code = concatHex([DELEGATION, delegate])
    await sendBatch(
      devnet.rpcUrl,
      owners.map((owner) => ['anvil_setCode', owner, code] as const),
    )
    return owners
  },
  // It has code: its wrapper does not matter.
  signatureForms: SIGNATURE_FORMS.map((form) =>
    form.name === 'a wrapper of ERC-6492' ? { ...form, verdict: 'accepted' } : form,
  ),
}
