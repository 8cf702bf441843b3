/** The route in the URL's hash: `#/settlements/{id}?status=settled`. */
import { useEffect, useMemo, useState } from 'preact/hooks'

export interface Route {
  /** Decoded segments of the path. */
  readonly path: readonly string[]
  readonly query: URLSearchParams
}

function parseRoute(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?', 2)
  return {
    path: path.split('/').filter(Boolean).map(decode),
    query: new URLSearchParams(query),
  }
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}

/** The link to a view. Empty values of its query are left out. */
export function linkTo(
  path: readonly string[],
  query: Readonly<Record<string, string | undefined>> = {},
): string {
  return `#/${path.map(encodeURIComponent).join('/')}${queryOf(query)}`
}

/** A query with its question mark, or nothing. */
export function queryOf(query: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== '')
  const text = new URLSearchParams(given as [string, string][]).toString()
  return text === '' ? '' : `?${text}`
}

/** The cursor of the page of a list that is shown, the last one of the URL. Those before it lead back. */
export const cursorOf = ({ query }: Route): string => query.getAll('cursor').at(-1) ?? ''

/** What a list is filtered by, as the URL has it. Empty values do not apply. */
export function filtersOf<Name extends string>({ path, query }: Route, names: readonly Name[]) {
  const given = names.map((name) => [name, query.get(name) ?? ''])
  const values = Object.fromEntries(given) as Readonly<Record<Name, string>>
  const go = (change: Partial<Record<Name, string>>): void =>
    navigate(linkTo(path, { ...values, ...change }))
  return {
    values,
    go,
    field: (name: Name) => ({
      value: values[name],
      onValue: (value: string) => go({ [name]: value } as Partial<Record<Name, string>>),
    }),
    isFiltered: given.some(([, value]) => value !== ''),
  }
}

/** The link to another page of the list that is shown. */
export function linkToPage({ path, query }: Route, cursors: readonly string[]): string {
  const changed = new URLSearchParams(query)
  changed.delete('cursor')
  for (const cursor of cursors) changed.append('cursor', cursor)
  return linkTo(path) + (changed.size > 0 ? `?${changed}` : '')
}

export function navigate(link: string): void {
  location.hash = link
}

export function useRoute(): Route {
  const [hash, setHash] = useState(location.hash)
  useEffect(() => {
    const onChange = (): void => setHash(location.hash)
    addEventListener('hashchange', onChange)
    return () => removeEventListener('hashchange', onChange)
  }, [])
  return useMemo(() => parseRoute(hash), [hash])
}
