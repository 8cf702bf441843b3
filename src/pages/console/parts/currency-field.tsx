import { useSession } from '../state/session.js'
import { SelectField, type SelectFieldProps } from './field.js'

/** Chooses a currency: those of the gateway's tokens first, then all that the browser knows. */
export function CurrencyField(props: Omit<SelectFieldProps, 'label' | 'options'>) {
  const { networks } = useSession()
  const names = new Intl.DisplayNames(undefined, { type: 'currency' })
  const pegs = networks.flatMap(({ assets }) => assets.flatMap(({ currency }) => currency ?? []))
  const codes = new Set([...pegs, ...Intl.supportedValuesOf('currency'), props.value])
  const options = [...codes].map((code) => [code, `${code} – ${names.of(code) ?? code}`] as const)
  return <SelectField label="Currency" options={options} {...props} />
}
