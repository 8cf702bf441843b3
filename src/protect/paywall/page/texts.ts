import { data } from './data.js'

/** A text of the page, with its `{words}` replaced. */
export function text(key: string, words: Readonly<Record<string, string | number>> = {}): string {
  const found = data.texts[key] ?? key
  return found.replaceAll(/\{(\w+)\}/g, (whole, name: string) => String(words[name] ?? whole))
}

/** What a reason or a problem code means, and what to do. `undefined` for a code of somebody else. */
export function messageOf(code: string | undefined): string | undefined {
  const key = code === undefined ? undefined : data.messages[code]
  return key === undefined ? undefined : text(key)
}
