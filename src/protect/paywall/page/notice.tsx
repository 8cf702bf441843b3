import type { Notice } from './purchases.js'
import { text } from './texts.js'

/** A message to the buyer, with links that help. */
export function NoticeText({ notice }: { readonly notice: Notice | undefined }) {
  if (notice === undefined) return null
  const { message, faucet, transaction } = notice
  if (message === '' && transaction === undefined) return null
  return (
    <p class={message === '' ? '' : 'notice'} role={message === '' ? undefined : 'alert'}>
      {message}
      {faucet !== undefined && <Link to={faucet} label={text('faucet')} />}
      {transaction !== undefined && <Link to={transaction} label={text('transaction')} />}
    </p>
  )
}

/** A link to another site, which learns nothing about this one. */
export function Link({ to, label }: { readonly to: string; readonly label: string }) {
  return (
    <>
      {' '}
      <a href={to} target="_blank" rel="noopener noreferrer">
        {label}
      </a>
    </>
  )
}
