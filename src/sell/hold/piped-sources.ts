import type { ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'
import { onceClosed } from '../../shared/http/once-closed.js'

export class PipedSources {
  readonly #res: ServerResponse
  readonly #sources = new Set<Readable>()

  constructor(res: ServerResponse) {
    this.#res = res
    res.on('pipe', (source: Readable) => void this.#sources.add(source))
    res.on('unpipe', (source: Readable) => void this.#sources.delete(source))
  }

  /**
   * Destroys the streams that are piped now, once the response is finished or closed. A pipe ends by
   * itself then, but leaves its source open.
   */
  destroyAfterResponse(): void {
    const sources = [...this.#sources]
    const destroy = (): void => {
      for (const source of sources) {
        source.unpipe(this.#res)
        // The request shares its socket with the response.
        if (source !== this.#res.req) source.destroy()
      }
    }
    this.#res.once('finish', destroy)
    onceClosed(this.#res, destroy)
  }
}
