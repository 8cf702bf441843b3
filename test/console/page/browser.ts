/** A real Chromium, and what it complains of. */
import { readFileSync } from 'node:fs'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { chromium, type Browser, type BrowserContext, type Page } from 'playwright-core'

const PLACES = [
  process.env['CHROMIUM'] ?? '',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
]

/** Milliseconds that something may take on a machine under load. */
export const PATIENCE_MS = 30_000

/** Looks for a Chromium. Where there is none, that is said aloud. */
export function findChromium(): string | undefined {
  const found = PLACES.find((place) => place !== '' && existsSync(place))
  if (found === undefined)
    process.stderr.write('No Chromium on this machine: the tests of the console are SKIPPED.\n')
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

interface TabOptions {
  readonly colorScheme?: 'light' | 'dark'
  readonly width?: number
  readonly height?: number
  /** Complaints that a test provokes: a refused sign-in is an error to the console. */
  readonly expected?: RegExp
}

/** Opens a tab with cookies of its own. */
export async function openTab(browser: Browser, options: TabOptions = {}): Promise<Tab> {
  const { colorScheme = 'light', width = 1280, height = 900, expected } = options
  const context = await browser.newContext({
    colorScheme,
    viewport: { width, height },
    reducedMotion: 'reduce',
    locale: 'en-US',
    acceptDownloads: true,
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
  await page.addInitScript(() =>
    document.addEventListener('securitypolicyviolation', (event) =>
      (globalThis as unknown as { reportViolation(text: string): void }).reportViolation(
        `${event.violatedDirective} ${event.blockedURI}`,
      ),
    ),
  )
  return { page, context, complaints }
}

/** Signs in, and waits for the first view. */
export async function signIn(page: Page, url: string, token: string): Promise<void> {
  await page.goto(url)
  await page.getByLabel('Token').fill(token)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
}

/** Waits until nothing on the page is being loaded. */
export async function settled(page: Page): Promise<void> {
  await page.waitForFunction(
    () => document.querySelector('[aria-busy="true"]') === null && document.querySelector('h1'),
  )
}

const axeSource = readFileSync(
  createRequire(import.meta.url).resolve('axe-core/axe.min.js'),
  'utf8',
)

/** What axe finds wrong with a page, each as one line. */
export async function findViolations(page: Page): Promise<readonly string[]> {
  await page.evaluate(axeSource)
  return page.evaluate(async () => {
    const { axe } = globalThis as unknown as {
      axe: {
        run(): Promise<{
          violations: {
            id: string
            help: string
            nodes: { html: string; failureSummary: string }[]
          }[]
        }>
      }
    }
    const { violations } = await axe.run()
    return violations.map(
      ({ id, help, nodes }) =>
        `${id}: ${help}: ${nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`).join(' | ')}`,
    )
  })
}
