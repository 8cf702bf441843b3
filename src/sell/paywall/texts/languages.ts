/** The paywall's languages, and the choice for a request. */
import type { Request } from 'express'
import type { PaywallTexts } from './paywall-texts.js'
import { translations } from './translations.cjs'

/** Texts by language. The first is the default. */
export const languages: Readonly<Record<string, PaywallTexts>> = translations

/** Language, script and region only: extensions would change the format of numbers. */
const LOCALE = /^[a-z]{2}(-[a-z]{4})?(-([a-z]{2}|\d{3}))?$/i

/** Whether the paywall has texts for a locale: `de`, `de-AT`. */
export function isPaywallLocale(locale: string): boolean {
  return LOCALE.test(locale) && languages[languageOf(locale)] !== undefined
}

/** The texts of a locale, or English. */
export function textsOf(locale: string): PaywallTexts {
  return languages[languageOf(locale)] ?? translations.en
}

/**
 * Chooses the locale of a request by its `Accept-Language`: one of our languages with the client's region,
 * which decides the format of numbers.
 */
export function localeOf(req: Request): string {
  const [first = 'en'] = req.acceptsLanguages().filter((locale) => isPaywallLocale(locale))
  return first
}

function languageOf(locale: string): string {
  return locale.slice(0, 2).toLowerCase()
}

/** Replaces the `{words}` of a text. */
export function fill(text: string, words: Readonly<Record<string, string>>): string {
  return text.replaceAll(/\{(\w+)\}/g, (whole, name: string) => words[name] ?? whole)
}
