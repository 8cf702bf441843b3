/** The languages of the paywall, and which of them a request gets. */
import type { Request } from 'express'
import { de } from './de.js'
import { en } from './en.js'
import type { PaywallTexts } from './paywall-texts.js'
import { es } from './es.js'
import { ja } from './ja.js'
import { zh } from './zh.js'

/** Texts by language. The first is the default. */
export const languages: Readonly<Record<string, PaywallTexts>> = { en, de, zh, ja, es }

/** A language, and at most a script and a region: extensions would change how numbers are written. */
const LOCALE = /^[a-z]{2}(-[a-z]{4})?(-([a-z]{2}|\d{3}))?$/i

/** Type guard for a locale that the paywall has texts for: `de`, `de-AT`. */
export function isPaywallLocale(locale: string): boolean {
  return LOCALE.test(locale) && languages[languageOf(locale)] !== undefined
}

/** The texts of a locale; English where there are none. */
export function textsOf(locale: string): PaywallTexts {
  return languages[languageOf(locale)] ?? en
}

/**
 * Chooses the locale of a request by its `Accept-Language`.
 *
 * The language is one of ours; the region is the client's, because it decides how numbers are written.
 */
export function localeOf(req: Request): string {
  const [first = 'en'] = req.acceptsLanguages().filter((locale) => isPaywallLocale(locale))
  return first
}

function languageOf(locale: string): string {
  return locale.slice(0, 2).toLowerCase()
}
