import type { Project } from '../api/documents.js'
import { formatFiat } from '../format/money.js'
import { formatDuration } from '../format/text.js'
import { CopyButton } from '../parts/copy.js'
import { Facts } from '../parts/table.js'
import { Time } from '../parts/values.js'

const V1 = { true: 'served', false: 'not served', default: 'as the gateway does' }

/** Settings of a merchant, with defaults. */
export function MerchantFacts({
  of: { merchant, createdAt, updatedAt },
}: {
  readonly of: Project
}) {
  if (merchant === undefined) return <p>This project has tokens but no merchant.</p>
  const { currency = 'USD', accepts, minAmount, maxAmount, maxTimeoutSeconds = 300 } = merchant
  const limit = (amount: string | undefined): string =>
    amount === undefined ? 'none' : formatFiat(amount, currency)
  return (
    <Facts
      of={[
        ['Name', merchant.name],
        [
          'Paid to',
          merchant.payTo && (
            <>
              <code class="break">{merchant.payTo}</code>{' '}
              <CopyButton text={merchant.payTo} label="address" />
            </>
          ),
        ],
        ['Currency', currency],
        [
          'Accepts',
          accepts === undefined
            ? 'all tokens of the gateway'
            : accepts.map(({ network, asset }) => `${asset} on ${network}`).join(', '),
        ],
        ['Other currencies', merchant.crossCurrency ? 'accepted' : 'not accepted'],
        ['Minimum amount', limit(minAmount)],
        ['Maximum amount', limit(maxAmount)],
        ['Offer expires after', formatDuration(maxTimeoutSeconds * 1000)],
        ['Public catalogue', merchant.listed === false ? 'not listed' : 'listed'],
        ['x402 version 1', V1[`${merchant.v1 ?? 'default'}`]],
        ['Created', createdAt && <Time at={createdAt} />],
        ['Changed', updatedAt && updatedAt !== createdAt && <Time at={updatedAt} />],
      ]}
    />
  )
}
