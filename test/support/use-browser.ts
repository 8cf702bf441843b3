import { afterEach, beforeEach, describe } from '@jest/globals'
import type { Browser, BrowserContext } from 'playwright-core'
import { findChromium, launch } from './browser.js'
import { useOpened } from './use-opened.js'

const executable = findChromium()

/** Describes tests in a browser: they are skipped where there is no Chromium. */
export function withBrowser(name: string, tests: () => void): void {
  const about = executable === undefined ? describe.skip : describe
  about(name, tests)
}

/**
 * Runs one browser for a test file. Use it inside tests of {@link withBrowser} only. A tab is closed after the
 * test that has opened it.
 */
export function useBrowser(): Browser {
  const browser = useOpened<Pick<Browser, 'close' | 'contexts'>>(async () =>
    executable === undefined
      ? { close: async () => undefined, contexts: () => [] }
      : launch(executable),
  )
  let kept: readonly BrowserContext[] = []
  beforeEach(() => {
    kept = browser.contexts()
  })
  afterEach(async () => {
    for (const context of browser.contexts()) if (!kept.includes(context)) await context.close()
  })
  return browser as Browser
}
