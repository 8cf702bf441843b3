/** A real Chromium, and what it complains of. */
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { chromium } from 'playwright-core'
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core'

const PLACES = [
  process.env['CHROMIUM'] ?? '',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
]

/** Milliseconds that something may take on a machine under load. */
const PATIENCE_MS = 120_000

/** Looks for a Chromium. Where there is none, that is said aloud. */
export function findChromium(): string | undefined {
  const found = PLACES.find((place) => place !== '' && existsSync(place))
  if (found === undefined)
    process.stderr.write('No Chromium on this machine: the tests of pages are SKIPPED.\n')
  return found
}

/** Starts it. */
export function launch(executablePath: string): Promise<Browser> {
  return chromium.launch({
    executablePath,
    args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking'],
  })
}

/** A tab, with all that it has complained of. */
export interface Tab {
  readonly page: Page
  readonly context: BrowserContext
  /** Errors of the console and of scripts, and violations of the content security policy. */
  readonly complaints: readonly string[]
}

export interface TabOptions {
  readonly colorScheme?: 'light' | 'dark'
  readonly width?: number
  readonly height?: number
  /** A phone: it has a touch screen and no mouse. */
  readonly isPhone?: boolean
  readonly javaScriptEnabled?: boolean
  readonly locale?: string
  /** What a browser that was closed has stored. @defaultValue nothing */
  readonly storageState?: BrowserContextOptions['storageState']
  /** IANA's name. @defaultValue that of this machine */
  readonly timeZone?: string
  /** Complaints that a test provokes: a refused sign-in is an error to the console. */
  readonly expected?: RegExp
}

/** Opens a tab with cookies of its own. */
export async function openTab(browser: Browser, options: TabOptions = {}): Promise<Tab> {
  const { colorScheme = 'light', width = 1280, height = 900, expected } = options
  const { isPhone = false, javaScriptEnabled = true, locale = 'en-US' } = options
  const { storageState, timeZone } = options
  const context = await browser.newContext({
    colorScheme,
    viewport: { width, height },
    reducedMotion: 'reduce',
    acceptDownloads: true,
    ...(timeZone !== undefined && { timezoneId: timeZone }),
    ...{ locale, javaScriptEnabled, hasTouch: isPhone, isMobile: isPhone },
    ...(storageState !== undefined && { storageState }),
  })
  const complaints: string[] = []
  const complain = (text: string): void => {
    if (expected?.test(text) !== true) complaints.push(text)
  }
  const page = await context.newPage()
  page.setDefaultTimeout(PATIENCE_MS)
  page.on('console', (message) => message.type() === 'error' && complain(message.text()))
  page.on('pageerror', (error) => complain(String(error)))
  await page.exposeFunction('reportViolation', complain)
  await page.addInitScript(`document.addEventListener('securitypolicyviolation', (event) =>
    reportViolation(event.violatedDirective + ' ' + event.blockedURI))`)
  return { page, context, complaints }
}

const axeSource = readFileSync(
  createRequire(import.meta.url).resolve('axe-core/axe.min.js'),
  'utf8',
)

/** What axe finds wrong with a page, each as one line. */
export async function findViolations(page: Page): Promise<readonly string[]> {
  await page.evaluate(axeSource)
  const { violations } = await page.evaluate<AxeResults>('axe.run()')
  return violations.flatMap(({ id, help, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${help}: ${html} ${failureSummary}`),
  )
}

interface AxeResults {
  readonly violations: ReadonlyArray<{
    readonly id: string
    readonly help: string
    readonly nodes: ReadonlyArray<{ readonly html: string; readonly failureSummary: string }>
  }>
}
