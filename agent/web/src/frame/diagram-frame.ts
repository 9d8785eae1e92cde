/**
 * The page that renders diagrams: Mermaid in a document whose policy allows inline styles and no network. It
 * receives the source and returns the text of an SVG.
 */
import mermaid from 'mermaid'

type Wanted = { drawing: number; source: string; isDark: boolean }

/** Only the first line of a Mermaid error is useful to people. */
const problemOf = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).split('\n')[0] ?? ''

async function draw({ drawing, source, isDark }: Wanted): Promise<string> {
  mermaid.initialize({
    startOnLoad: false,
    securityLevel: 'strict',
    theme: isDark ? 'dark' : 'neutral',
    // Labels must be SVG text, because an image does not render HTML.
    htmlLabels: false,
    suppressErrorRendering: true,
  })
  return (await mermaid.render(`drawing-${drawing}`, source)).svg
}

// Diagrams are rendered one at a time: Mermaid's settings are global.
let last: Promise<unknown> = Promise.resolve()
window.addEventListener('message', ({ source, origin, data }: MessageEvent<Wanted>) => {
  if (source !== window.parent || origin !== location.origin) return
  const reply = (drawn: { svg: string } | { error: string }) =>
    window.parent.postMessage({ drawing: data.drawing, ...drawn }, location.origin)
  last = last
    .then(() => draw(data))
    .then(
      svg => reply({ svg }),
      (error: unknown) => reply({ error: problemOf(error) }),
    )
})
window.parent.postMessage('ready', location.origin)
