/** Texts of the document: paragraphs, lists and `code`. Nothing of them is ever HTML. */

/** Paragraphs and lists. */
export function Text({ text }: { readonly text: string }) {
  return (
    <>
      {text.split('\n\n').map((block) =>
        block.startsWith('- ') ? (
          <ul class="list" key={block}>
            {block.split('\n').map((line) => (
              <li key={line}>
                <Inline text={line.slice(2)} />
              </li>
            ))}
          </ul>
        ) : (
          <p key={block}>
            <Inline text={block} />
          </p>
        ),
      )}
    </>
  )
}

/** A line. */
export function Inline({ text }: { readonly text: string }) {
  return (
    <>
      {text
        .split('`')
        .map((part, index) =>
          index % 2 === 1 ? <code key={`${index}${part}`}>{part}</code> : part,
        )}
    </>
  )
}
