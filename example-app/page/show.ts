/** Shows what was bought: text as it arrives, files as downloads, HTML in a frame without rights. */

/** Shows a response in an element. */
export async function show(response: Response, place: HTMLElement): Promise<void> {
  const type = response.headers.get('content-type') ?? ''
  const disposition = response.headers.get('content-disposition') ?? ''
  if (disposition.startsWith('attachment')) return download(response, disposition, place)
  if (type.startsWith('text/html')) return showPage(await response.text(), place)
  const text = place.appendChild(document.createElement('pre'))
  // A region that scrolls can be reached by keyboard.
  text.tabIndex = 0
  if (type.startsWith('application/json')) {
    text.textContent = JSON.stringify(await response.json(), null, 2)
    return
  }
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  for (let part = await reader?.read(); part?.done === false; part = await reader?.read())
    text.append(part.value)
}

async function download(
  response: Response,
  disposition: string,
  place: HTMLElement,
): Promise<void> {
  const link = place.appendChild(document.createElement('a'))
  link.download = /filename="?([^";]+)/.exec(disposition)?.[1] ?? 'file'
  link.href = URL.createObjectURL(await response.blob())
  link.textContent = `Save ${link.download}`
}

function showPage(html: string, place: HTMLElement): void {
  const frame = place.appendChild(document.createElement('iframe'))
  frame.title = 'What you bought'
  frame.sandbox.value = ''
  frame.srcdoc = html
}
