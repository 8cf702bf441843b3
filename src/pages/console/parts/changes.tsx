import { linkTo } from '../state/route.js'

/** What something was, and what it is now. */
export interface Change {
  readonly before: object | undefined
  readonly after: object | undefined
}

/** Members that differ, with old and new values. */
export function Changes({ before = {}, after = {} }: Change) {
  const [was, is] = [flatten(before), flatten(after)]
  const names = [...new Set([...was.keys(), ...is.keys()])]
  return (
    <ul class="changes">
      {names
        .filter((name) => was.get(name) !== is.get(name))
        .map((name) => (
          <li key={name}>
            {name} {was.has(name) && <del>{was.get(name)}</del>}{' '}
            {is.has(name) && <Value name={name} value={is.get(name) ?? ''} />}
          </li>
        ))}
    </ul>
  )
}

/** A new value. Payments are linked. */
function Value({ name, value }: { readonly name: string; readonly value: string }) {
  const isPayment = name === 'settlement'
  return <ins>{isPayment ? <a href={linkTo(['settlements', value])}>{value}</a> : value}</ins>
}

/** Longest value that is shown: a logo is as long as its picture. */
const MAX_SHOWN = 200

/** The members of an object and of the objects in it, as text. */
function flatten(object: object, prefix = ''): Map<string, string> {
  return new Map(
    Object.entries(object).flatMap(([name, value]: [string, unknown]) => {
      const path = prefix + name
      if (Array.isArray(value)) return [[path, value.map(inWords).join(', ')] as const]
      if (typeof value === 'object' && value !== null) return [...flatten(value, `${path}.`)]
      return [[path, shown(value)] as const]
    }),
  )
}

/** An entry of a list: of `accepts`, say. */
function inWords(value: unknown): string {
  const { asset, network } = { asset: undefined, network: undefined, ...(value as object) }
  return asset === undefined ? shown(value) : `${shown(asset)} on ${shown(network)}`
}

function shown(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.length > MAX_SHOWN ? `${text.slice(0, 40)}… (${text.length} characters)` : text
}
