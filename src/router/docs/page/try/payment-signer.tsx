import { useState } from 'preact/hooks'
import { useWallets, type Wallet } from '../../../../browser/use-wallets.js'
import { signPayment } from './sign-payment.js'
import type { Tokens } from './tokens.js'

/** Puts a payment that a wallet of the browser signs into the body. The page itself has no keys. */
export function PaymentSigner({
  tokens,
  onSigned,
}: {
  readonly tokens: Tokens
  readonly onSigned: (body: string) => void
}) {
  const wallets = useWallets()
  const [told, setTold] = useState('')
  const sign = ({ info, provider }: Wallet): void => {
    if (tokens.projectToken === '') return setTold('Fill in the project token first.')
    setTold(`Sign in ${info.name}.`)
    const fill = async (): Promise<void> => {
      onSigned(await signPayment(provider, tokens.projectToken))
      setTold('The body is a payment of 0.01 now. It moves no money before it is settled.')
    }
    fill().catch((failure: unknown) => setTold(`Nothing was signed: ${messageOf(failure)}`))
  }
  return (
    <div class="signer">
      <p class="hint">
        {wallets.length === 0
          ? 'The example has no valid signature. With a wallet in this browser, a payment can be signed here.'
          : 'The example has no valid signature. Have a payment of 0.01 signed:'}
      </p>
      <div class="actions">
        {wallets.map((wallet) => (
          <button
            key={wallet.info.uuid}
            class="button button-small"
            type="button"
            onClick={() => sign(wallet)}
          >
            Sign a payment with {wallet.info.name}
          </button>
        ))}
      </div>
      <p role="status">{told}</p>
    </div>
  )
}

function messageOf(failure: unknown): string {
  return failure instanceof Error ? failure.message : 'the wallet did not say why.'
}
