import { until } from './until.js'

/** Presents a payment again for as long as the answer is 503, as clients do: on a busy machine, any may be. */
export async function untilDecided(present: () => Promise<Response>): Promise<Response> {
  let response = await present()
  await until(async () => {
    if (response.status === 503) response = await present()
    return response.status !== 503
  })
  return response
}
