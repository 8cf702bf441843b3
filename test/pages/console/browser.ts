/** What the tests of the console do in a browser, over and over. */
import type { Page } from 'playwright-core'
import { until } from '../../support/until.js'

/** Signs in, and waits for the first view. */
export async function signIn(page: Page, url: string, token: string): Promise<void> {
  await page.goto(url)
  await page.getByLabel('Token').fill(token)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
}

/** A view of the console: its hash, and its heading. */
export type View = readonly [hash: string, heading: string]

/** Goes to a view, and waits until it has loaded what it shows. */
export async function visit(page: Page, [hash, heading]: View): Promise<void> {
  await page.evaluate(`location.hash = ${JSON.stringify(hash)}`)
  await page.getByRole('heading', { level: 1, name: heading, exact: true }).waitFor()
  await until(async () => (await page.locator('[aria-busy="true"]').count()) === 0)
}
