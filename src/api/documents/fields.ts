/** Members that many documents have. */
import { z } from 'zod'

export const text = (description: string, ...examples: readonly string[]) =>
  z.string().meta({ description, ...(examples.length > 0 && { examples }) })

export const integer = (description: string, ...examples: readonly number[]) =>
  z.int().meta({ description, ...(examples.length > 0 && { examples }) })

export const object = <Shape extends z.ZodRawShape>(description: string, shape: Shape) =>
  z.object(shape).meta({ description })

export const list = <Item extends z.ZodType>(description: string, item: Item) =>
  z.array(item).meta({ description })

/** A time in ISO 8601, in UTC. */
export const time = (description: string) =>
  z.string().meta({ description, format: 'date-time', examples: ['2026-01-31T12:00:00.000Z'] })

export const address = (description: string) =>
  z
    .string()
    .regex(/^0x[0-9a-fA-F]{40}$/)
    .meta({ description, examples: ['0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913'] })

/** An amount in the token's atomic units. */
export const atomicUnits = (description: string) =>
  z
    .string()
    .regex(/^(0|[1-9][0-9]*)$/)
    .meta({ description, examples: ['250000'] })

export const network = z.string().meta({
  description: 'Chain: CAIP-2, or its short name if the gateway or the request writes those.',
  examples: ['eip155:8453', 'base'],
})

/** Marks money without value. */
export const testnet = z.literal(true).optional().meta({
  description: 'There on test networks, whose money is worth nothing.',
})

/** A number of things. */
export const count = (description: string) =>
  z
    .int()
    .min(0)
    .meta({ description, examples: [3] })

/** The project that a row of a list is about. */
export const projectMembers = {
  project: text('Id of the project.').optional(),
  merchantName: text('Name of its merchant.').optional(),
}

export const nextCursor = z.string().optional().meta({
  description: '`cursor` of the next page; absent on the last one.',
})

export const anyObject = (description: string) =>
  z.record(z.string(), z.unknown()).meta({ description })
