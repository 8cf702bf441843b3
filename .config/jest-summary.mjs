import { existsSync, readFileSync, writeFileSync } from 'node:fs'

/** Adds jest's own count to a file of one line. A test file that could not run counts as failed. */
export default class SummaryReporter {
  #file

  constructor(_globalConfig, { file }) {
    this.#file = file
  }

  onRunComplete(_contexts, { numPassedTests, numFailedTests, numRuntimeErrorTestSuites }) {
    const failed = numFailedTests + numRuntimeErrorTestSuites
    const before = existsSync(this.#file) ? readFileSync(this.#file, 'utf8') : ''
    const [passedBefore = 0, failedBefore = 0] = (before.match(/\d+/g) ?? []).map(Number)
    const sum = `${passedBefore + numPassedTests} passed, ${failedBefore + failed} failed`
    writeFileSync(this.#file, `${sum}\n`)
  }
}
