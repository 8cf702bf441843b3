import { z } from 'zod'

/** An absolute URL, echoed unchanged. */
export const absoluteUrl = z
  .string()
  .refine((text) => URL.canParse(text), 'must be an absolute URL, like https://shop.example/item/1')
