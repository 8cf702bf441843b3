/** What people buy in a browser, and how it is shown. */
import { beforeEach, expect, it } from '@jest/globals'
import { readFile } from 'node:fs/promises'
import { useBrowser, withBrowser } from '../../support/use-browser.js'
import { CENT, openBuyer, openWorld, PAY, type Buyer } from './world.js'
import { ARTICLE_POLICY } from './shop.js'
import { useOpened } from '../../support/use-opened.js'

const browser = useBrowser()
const world = useOpened(openWorld)
let buyer: Buyer

beforeEach(async () => {
  buyer = await openBuyer(world, browser)
})

/** Opens a paid page and pays. */
async function buy(path: string): Promise<void> {
  await buyer.page.goto(world.url + path)
  await buyer.page.getByRole('button', { name: PAY }).click()
}

/** Saves what was bought: name and contents of the file. */
async function saved(): Promise<readonly [name: string, contents: string]> {
  const [download] = await Promise.all([
    buyer.page.waitForEvent('download'),
    buyer.page.getByRole('link', { name: 'Save as a file' }).click(),
  ])
  return [download.suggestedFilename(), await readFile(await download.path(), 'utf8')]
}

withBrowser('the paywall sells', () => {
  it('shows HTML that was bought at its own URL, under its own policy, with its own script', async () => {
    const before = await world.earned()
    const { page } = buyer
    const responses: string[] = []
    page.on('response', (response) => {
      if (response.status() === 200)
        responses.push(response.headers()['content-security-policy'] ?? '')
    })
    await buy('/buy/article')
    await page.getByText('written by its own script').waitFor()
    expect(page.url()).toBe(`${world.url}/buy/article`)
    expect(responses).toEqual([ARTICLE_POLICY, ARTICLE_POLICY])
    const colour = await page.evaluate(`getComputedStyle(document.querySelector('h1')).color`)
    expect(colour).toBe('rgb(1, 2, 3)')
    expect(await world.earned()).toBe(before + CENT)
    expect(world.runs['article']).toBe(1)
    expect(await buyer.context.cookies()).toEqual([])
    expect(buyer.complaints).toEqual([])
  })

  it('saves a file under the name that the seller gives it', async () => {
    const { page } = buyer
    const [download] = await Promise.all([page.waitForEvent('download'), buy('/buy/file')])
    expect(download.suggestedFilename()).toBe('Bericht für Ä.csv')
    expect(await readFile(await download.path(), 'utf8')).toBe('a,b\n1,2\n')
    await page
      .getByRole('heading', { name: 'Paid. The file was saved as Bericht für Ä.csv.' })
      .waitFor()
    expect(buyer.complaints).toEqual([])
  })

  it('saves a file without a name under the ending of its type', async () => {
    const { page } = buyer
    const [download] = await Promise.all([page.waitForEvent('download'), buy('/buy/document')])
    expect(download.suggestedFilename()).toBe('document.pdf')
    expect(buyer.complaints).toEqual([])
  })

  it('indents JSON and changes no number in it', async () => {
    await buy('/buy/json')
    const shown = buyer.page.locator('pre')
    await shown.waitFor()
    expect(await shown.textContent()).toBe(
      '{\n  "big": 12345678901234567890,\n  "text": "a, {b}: [c]",\n  "none": [],\n  "list": [\n    1,\n    2\n  ]\n}',
    )
    await buyer.page.getByRole('link', { name: 'View transaction' }).waitFor()
    expect((await saved())[0]).toBe('json.json')
    expect(buyer.complaints).toEqual([])
  })

  it('shows a stream as it arrives', async () => {
    await buy('/buy/stream')
    await buyer.page.getByText('the first part').waitFor()
    expect(await buyer.page.locator('pre').textContent()).toBe('the first part\n')
    world.stream.mayEnd = true
    await buyer.page.getByText('the last part').waitFor()
    expect(await saved()).toEqual(['stream.txt', 'the first part\nthe last part\n'])
    expect(buyer.complaints).toEqual([])
  })

  it('shows the newest part of a stream without end, and saves no more than the browser can hold', async () => {
    const { page } = buyer
    world.stream.mayEnd = false
    await buy('/buy/endless')
    await page.getByText('the last part').waitFor()
    const shown = 'document.querySelector("pre").textContent.length'
    expect(await page.evaluate(shown)).toBeLessThan(3 * 1024 ** 2)
    await page.getByText('73 MB received. Only the newest part is shown').waitFor()
    world.stream.mayEnd = true
    const [name, contents] = await saved()
    expect([name, contents.endsWith('the last part\n')]).toEqual(['endless.txt', true])
    expect(contents.length).toBeGreaterThan(60 * 1024 ** 2)
    expect(contents.length).toBeLessThanOrEqual(64 * 1024 ** 2)
    expect(buyer.complaints).toEqual([])
  })

  it('shows a picture', async () => {
    await buy('/buy/picture')
    const picture = buyer.page.locator('.result img')
    await picture.waitFor()
    expect(await picture.evaluate((img) => (img as { naturalWidth?: number }).naturalWidth)).toBe(
      40,
    )
    expect((await saved())[0]).toBe('picture.svg')
    expect(buyer.complaints).toEqual([])
  })

  it('follows a redirect that was bought', async () => {
    await buy('/buy/redirect')
    await buyer.page.getByRole('heading', { name: 'The signed link' }).waitFor()
    expect(buyer.page.url()).toBe(`${world.url}/free`)
    expect(buyer.complaints).toEqual([])
  })

  it('saves HTML as a file if the server does not keep it for a second request', async () => {
    const { page } = buyer
    const [download] = await Promise.all([page.waitForEvent('download'), buy('/buy/large-article')])
    expect(download.suggestedFilename()).toBe('large-article.html')
    expect((await readFile(await download.path())).length).toBeGreaterThan(300_000)
    await page.getByText('The page is too large to show here').waitFor()
    expect(world.runs['large']).toBe(1)
    expect(buyer.complaints).toEqual([])
  })

  it('says that an error of the seller was not charged', async () => {
    const before = await world.earned()
    await buyer.context.close()
    buyer = await openBuyer(world, browser, { expected: /\b40[24] \(/ })
    await buy('/buy/fails')
    await buyer.page.getByText('system failed (404), and you were not charged').waitFor()
    await buyer.page.getByRole('button', { name: PAY }).waitFor()
    expect(await world.earned()).toBe(before)
    expect(buyer.complaints).toEqual([])
  })
})
