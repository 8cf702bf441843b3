import { describe, expect, it } from '@jest/globals'
import { STATUS } from '../../../src/shared/http/problem-status.js'
import { reasons } from '../../../src/shared/protocol/reasons.js'
import { translations } from '../../../src/sell/paywall/texts/translations.cjs'
import type { PaywallTextKey } from '../../../src/sell/paywall/texts/paywall-texts.js'
import { languages } from '../../../src/sell/paywall/texts/languages.js'
import { messageOf } from '../../../src/sell/paywall/texts/message-of.js'

const { en } = translations
const keys = Object.keys(en) as PaywallTextKey[]
const placeholders = (text: string) => [...text.matchAll(/\{\w+\}/g)].map(([name]) => name).sort()

/**
 * Words that stand for a thing which has another word in the same language: a wallet, a charge, a signature, a
 * token, the reader.
 */
const FORBIDDEN = {
  en: /\bdebited\b|\bbilled\b|\bcancelled\b|\bpurse\b/i,
  de: /belaste|dieses Token|bewegt|Einzelheiten|Geldbörse|Signatur/i,
  es: /cartera|monedero|otra vez sin|mostrar(la)? otra|debitad/i,
  fr: /\bwallets?\b|facturé|n’est débité qu/i,
  pt: /\bwallets?\b|billetera|debitad/i,
  zh: /未扣款|未收取|签字|电子钱包/,
  ja: /あなた|請求はされて|請求されていません|財布|サイン/,
  ko: /월렛|지불|아무것도 청구|사인|당신/,
} as const satisfies Record<keyof typeof translations, RegExp>

describe('the texts of the paywall', () => {
  it('exist in eight languages', () => {
    expect(Object.keys(languages).sort()).toEqual([
      ...['de', 'en', 'es', 'fr', 'ja', 'ko', 'pt', 'zh'],
    ])
  })

  it.each(Object.entries(languages))('have all keys and placeholders in %s', (_name, texts) => {
    expect(Object.keys(texts)).toEqual(keys)
    for (const key of keys) {
      expect(texts[key].trim()).not.toBe('')
      expect([key, placeholders(texts[key])]).toEqual([key, placeholders(en[key])])
    }
  })

  it.each(Object.entries(languages).filter(([name]) => name !== 'en'))(
    'are translated in %s',
    (_name, texts) => {
      const same = keys.filter((key) => texts[key] === en[key])
      expect(same.filter((key) => key !== 'details')).toEqual([])
    },
  )

  it.each(Object.entries(FORBIDDEN))('have one word for each thing in %s', (name, words) => {
    const texts = Object.entries(translations[name as keyof typeof FORBIDDEN])
    expect(texts.filter(([, text]) => words.test(text.replaceAll(/\{\w+\}/g, '')))).toEqual([])
  })

  it('explain every reason for which a payment is refused', () => {
    expect(reasons.filter((reason) => !(messageOf[reason] in en))).toEqual([])
  })

  it('explain every problem that a paid route responds with', () => {
    const codes = Object.keys(messageOf).filter(
      (code) => !(reasons as readonly string[]).includes(code),
    )
    // Where the statuses differ, the code was made for routes as well.
    const ofRoutes = Object.entries(STATUS).filter(
      ([, { api, route }]) => api !== route || route === 503,
    )
    for (const [code] of ofRoutes)
      expect([code, ...codes, ...reasons].filter((one) => one === code).length).toBeGreaterThan(1)
    expect(codes.filter((code) => !(code in STATUS))).toEqual([])
  })
})
