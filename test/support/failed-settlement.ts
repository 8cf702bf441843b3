import { expect } from '@jest/globals'

/** Matches the answer to a settlement that failed. */
export const failed = (errorReason: string) =>
  expect.objectContaining({ success: false, errorReason })
