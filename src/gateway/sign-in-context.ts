import type { SettlementNetwork } from '../core/schemes/evm/network/settlement-network.js'
import type { LedgerStore } from '../ledger/index.js'
import type { SignInContext } from '../sell/sign-in/route-sign-in.js'
import { Lazy } from '../shared/http/lazy.js'
import type { OpenRequests } from '../shared/http/open-requests.js'

/** Most questions to contract accounts in a minute. */
const MOST_QUESTIONS = { ofAll: 1200, ofClient: 120 }

interface Parts extends Pick<SignInContext, 'now'> {
  readonly ledger: Pick<LedgerStore, 'signIns' | 'secrets'>
  readonly requests: OpenRequests
  readonly openCores: () => Promise<readonly SettlementNetwork[]>
}

/** Creates the dependencies of sign-ins. The first sign-in loads the code that checks signatures. */
export function signInContext({ ledger, requests, openCores, now }: Parts): SignInContext {
  const secret = new Lazy(() => ledger.secrets.sharedSecret('sign-in'))
  const check = new Lazy(async () => {
    const { signerCheck } = await import('../core/facilitator/signers.js')
    return signerCheck(openCores, MOST_QUESTIONS)
  })
  return {
    ledger,
    now,
    questionsAMinute: MOST_QUESTIONS.ofClient,
    secret: () => secret.get(),
    checkSigner: (...signed) =>
      requests.ask(check.get().then((checkSigner) => checkSigner(...signed))),
  }
}
