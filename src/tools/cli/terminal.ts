import { createInterface, type Interface } from 'node:readline'

/** A terminal with a person at it. Lines that are pasted together answer one question each. */
export class Terminal {
  readonly #open: () => Interface
  #lines: { readonly interface: Interface; readonly answers: AsyncIterator<string> } | undefined

  constructor({ input, output }: Record<'input' | 'output', NodeJS.ReadWriteStream>) {
    this.#open = () => createInterface({ input, output })
  }

  /**
   * Asks for one line.
   *
   * @param signal - Cancels, like the end of the input and Ctrl-C.
   * @throws Error if it is cancelled.
   */
  async ask(question: string, signal: AbortSignal): Promise<string> {
    const lines = (this.#lines ??= this.#start(signal))
    lines.interface.setPrompt(question)
    lines.interface.prompt()
    const { value, done } = await lines.answers.next()
    if (done === true) throw new Error('Cancelled. No files were written.')
    return value
  }

  close(): void {
    this.#lines?.interface.close()
  }

  #start(signal: AbortSignal) {
    const lines = this.#open()
    lines.once('SIGINT', () => lines.close())
    signal.addEventListener('abort', () => lines.close())
    if (signal.aborted) lines.close()
    return { interface: lines, answers: lines[Symbol.asyncIterator]() }
  }
}
