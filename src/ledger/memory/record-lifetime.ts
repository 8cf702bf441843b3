import { isFinal, type LedgerRecord } from '../record.js'

/** Seconds that a final record outlives its authorization. */
const AFTERLIFE_SECONDS = 3600n

/**
 * Seconds after which a settled record is dropped, because the chain itself refuses its nonce. That is
 * not so for a failed one, until its authorization lapses.
 */
const MAX_AGE_SECONDS = 48n * 3600n

/** Seconds by which a refund outlives its payment: a sum without it would allow another. */
const REFUND_AFTERLIFE_SECONDS = MAX_AGE_SECONDS + 3600n

/** How long a record is kept. */
export function lifetimeMs(record: LedgerRecord, nowMs: number): number {
  const left = record.validBefore - BigInt(Math.floor(nowMs / 1000))
  const validFor = left > 0n ? left : 0n
  if (!isFinal(record))
    return validFor > MAX_AGE_SECONDS ? Infinity : toMs(validFor + MAX_AGE_SECONDS)
  if (record.refundOf !== undefined && record.state === 'settled')
    return toMs(validFor + REFUND_AFTERLIFE_SECONDS)
  const afterwards = validFor + AFTERLIFE_SECONDS
  if (record.state === 'failed') return validFor > MAX_AGE_SECONDS ? Infinity : toMs(afterwards)
  return toMs(afterwards < MAX_AGE_SECONDS ? afterwards : MAX_AGE_SECONDS)
}

function toMs(seconds: bigint): number {
  return Number(seconds) * 1000
}
