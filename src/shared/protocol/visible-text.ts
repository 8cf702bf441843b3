/** Makes text of strangers safe for terminals, logs, labels and pages. */

/**
 * Characters that move a cursor, forge a line, hide text or reverse it: control and format characters,
 * line and paragraph separators, and halves of surrogate pairs.
 */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu

/** {@link INVISIBLE} without line feeds and tabs. */
const INVISIBLE_IN_LINES = /(?![\n\t])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu

/** Longest text of a server that is shown. */
const MAX_SHOWN = 200

/**
 * A name for people: no control characters and no change of text direction. Joiners are allowed: emoji
 * and many scripts need them.
 */
export const NAME =
  // oxlint-disable-next-line eslint/no-control-regex -- a name must not have them
  /^[^\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]{0,200}$/

export const NOT_A_NAME = 'must be at most 200 characters, without control characters'

export function isName(text: string): boolean {
  return NAME.test(text) && !/\p{Cs}/u.test(text)
}

/** A stranger's words in a log: one line, without control characters; cut beyond `maxLength`. */
export function oneLine(words: string, maxLength: number): string {
  // Long texts are cut first: their whole length costs nothing then.
  const line = words
    .slice(0, 4 * maxLength)
    .replaceAll(/[\p{C}\s]+/gu, ' ')
    .trim()
  return line.length > maxLength ? `${line.slice(0, maxLength)}…` : line
}

/** Shortens a stranger's text, and replaces what a terminal would obey. */
export function visible(text: string, maxLength = MAX_SHOWN): string {
  return text.slice(0, maxLength).replaceAll(INVISIBLE, '?')
}

/** Like {@link visible}, for text of many lines and any length. */
export function visibleLines(text: string): string {
  return text.replaceAll(INVISIBLE_IN_LINES, '?')
}

/** Shortens a stranger's text and removes invisible characters. PostgreSQL can store the rest. */
export function withoutInvisible(text: string, maxLength: number): string {
  return text.slice(0, maxLength).replaceAll(INVISIBLE, '')
}

/** A symbol, code, network name or address. */
const LOOKS_LIKE_A_NAME =
  /^([\w.,: -]{1,12}|[a-z]{2,12}(-[a-z]{2,12}){1,2}|eip155:\d{1,12}|0x[0-9a-fA-F]{40})$/

/** Quotes a mistyped name if it looks like one: it may be a secret in the wrong variable. */
export function quoteName(text: string): string {
  return LOOKS_LIKE_A_NAME.test(text) ? `'${text}'` : 'this value'
}
