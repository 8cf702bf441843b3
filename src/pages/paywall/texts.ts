import { data } from './data.js'

/** Reads a text and replaces its `{words}`; `{seller}` everywhere. */
export function text(key: string, words: Readonly<Record<string, string | number>> = {}): string {
  const found = data.texts[key] ?? key
  const all: typeof words = { seller: data.seller, ...words }
  return found.replaceAll(/\{(\w+)\}/g, (whole, name: string) => String(all[name] ?? whole))
}

/** Explains a reason or problem code; `undefined` for one of another server. */
export function messageOf(code: string | undefined): string | undefined {
  const key = code === undefined ? undefined : data.messages[code]
  return key === undefined ? undefined : text(key)
}

/** Writes a time (Unix seconds) in the reader's language and zone. */
export function formatTime(seconds: number): string {
  const date = { year: 'numeric', month: 'short', day: 'numeric' } as const
  const time = { hour: 'numeric', minute: '2-digit', timeZoneName: 'short' } as const
  return new Intl.DateTimeFormat(data.locale, { ...date, ...time }).format(seconds * 1000)
}
