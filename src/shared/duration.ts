/** Times in options: `'48h'`. */
import { z } from 'zod'

const UNITS = { m: 60_000, h: 3_600_000, d: 86_400_000 } as const

const DURATION = /^[1-9]\d{0,3}[mhd]$/

/** Minutes, hours or days, in milliseconds. */
export const durationSchema = z
  .string()
  .regex(DURATION, "must be a number and 'm', 'h' or 'd', e.g. '48h'")
  .transform((text) => Number(text.slice(0, -1)) * UNITS[text.slice(-1) as keyof typeof UNITS])
