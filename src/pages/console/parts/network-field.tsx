import { useSession } from '../state/session.js'
import { SelectField, type Controlled } from './field.js'

/** Stands for all test networks. */
const TEST = 'test'

interface NetworkFieldProps extends Controlled {
  /** Money is summed: that of test networks never together with the rest. */
  readonly isSum?: boolean
}

/** Chooses a network, where the gateway has several. */
export function NetworkField({ value, onValue, isSum = false }: NetworkFieldProps) {
  const { networks } = useSession()
  if (networks.length < 2) return null
  const hasBoth = new Set(networks.map(({ testnet }) => testnet)).size === 2
  return (
    <SelectField
      label="Network"
      value={value}
      onValue={onValue}
      options={[
        ['', isSum && hasBoth ? 'All with real money' : 'All networks'],
        ...networks.map(
          ({ network, name, testnet }) => [network, testnet ? `${name} (test)` : name] as const,
        ),
        ...(isSum && hasBoth ? [[TEST, 'All test networks'] as const] : []),
      ]}
    />
  )
}

/** The parameters of the API for a choice. */
export function networkQuery(value: string): {
  readonly network?: string
  readonly testnet?: string
} {
  if (value === '') return {}
  return value === TEST ? { testnet: 'true' } : { network: value }
}
