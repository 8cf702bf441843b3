import { afterEach, describe } from '@jest/globals'
import type { Browser } from 'playwright-core'
import { findChromium, launch } from './browser.js'
import { useOpened } from './use-opened.js'

const executable = findChromium()

/** Describes tests in a browser: they are skipped where there is no Chromium. */
export function withBrowser(name: string, tests: () => void): void {
  const about = executable === undefined ? describe.skip : describe
  about(name, tests)
}

/**
 * Runs one browser for a test file. Use it inside tests of {@link withBrowser} only.
 *
 * @param keepsTabs - Whether tabs stay open after the test that has opened them. @defaultValue false
 */
export function useBrowser({ keepsTabs = false } = {}): Browser {
  const browser = useOpened<Pick<Browser, 'close' | 'contexts'>>(async () =>
    executable === undefined
      ? { close: async () => undefined, contexts: () => [] }
      : launch(executable),
  )
  if (!keepsTabs)
    afterEach(async () => {
      for (const context of browser.contexts()) await context.close()
    })
  return browser as Browser
}
