import { z } from 'zod'
import { mistake, type FieldsOf } from './fields.js'
import type { MetricsOptions } from '../options.js'

const DEFAULT_HOST = '127.0.0.1'
const DEFAULT_PORT = 9464

const MIN_TOKEN_LENGTH = 16

const MAX_PORT = 65_535

export function isLoopback(host: string): boolean {
  return /^(127(\.\d{1,3}){3}|::1|localhost)$/i.test(host)
}

export interface ResolvedMetrics {
  readonly token?: string | undefined
  readonly host: string
  readonly port: number
}

const settings = z
  .strictObject({
    token: z
      .string()
      .min(MIN_TOKEN_LENGTH, `must have at least ${MIN_TOKEN_LENGTH} characters`)
      .optional(),
    host: z.string().min(1, 'must not be empty').default(DEFAULT_HOST),
    port: z.int().min(0).max(MAX_PORT).default(DEFAULT_PORT),
  } satisfies FieldsOf<MetricsOptions>)
  .refine(({ host, token }) => isLoopback(host) || token !== undefined, {
    path: ['token'],
    ...mistake('missing_option', 'is missing: others than this machine can reach that host'),
  })

export const metricsSchema = z
  .union([z.boolean(), settings])
  .default(false)
  .transform((given): ResolvedMetrics | undefined =>
    typeof given === 'boolean'
      ? given
        ? { host: DEFAULT_HOST, port: DEFAULT_PORT }
        : undefined
      : given,
  )
