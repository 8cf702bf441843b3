import { writeFileSync } from 'node:fs'

/** Writes jest's own count as one line. A test file that could not run counts as failed. */
export default class SummaryReporter {
  #file

  constructor(_globalConfig, { file }) {
    this.#file = file
  }

  onRunComplete(_contexts, { numPassedTests, numFailedTests, numRuntimeErrorTestSuites }) {
    const failed = numFailedTests + numRuntimeErrorTestSuites
    writeFileSync(this.#file, `${numPassedTests} passed, ${failed} failed\n`)
  }
}
