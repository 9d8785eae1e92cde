/**
 * The page that draws diagrams: Mermaid in a document whose policy allows styles and no request. Text comes
 * in, the text of an SVG goes out.
 */
import mermaid from 'mermaid'

type Wanted = { drawing: number; source: string; isDark: boolean }

/** Of its error only the first line is for people. */
const problemOf = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).split('\n')[0] ?? ''

async function draw({ drawing, source, isDark }: Wanted): Promise<string> {
  mermaid.initialize({
    startOnLoad: false,
    securityLevel: 'strict',
    theme: isDark ? 'dark' : 'neutral',
    // Labels as SVG text: an image draws no HTML.
    htmlLabels: false,
    suppressErrorRendering: true,
  })
  return (await mermaid.render(`drawing-${drawing}`, source)).svg
}

// One after another: the settings of Mermaid are those of the whole page.
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
