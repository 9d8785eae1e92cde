/**
 * A Mermaid diagram as a picture, with its source behind a button. It is rendered in a separate page
 * (diagram-frame.html), because Mermaid writes style elements, which the policy of this page blocks. The
 * result is shown as an image, which runs and loads nothing.
 */
import { useEffect, useState } from 'react'
import { CodeBlock } from '../code/code-block.tsx'
import { useThemeName } from '../ui/use-theme-name.ts'
import { toolsWords } from '../words/tools.ts'

/** A streamed diagram is rendered once its source is unchanged for this time. */
const SETTLED_MS = 400

export function Diagram({ source }: { source: string }) {
  const theme = useThemeName()
  const [drawn, setDrawn] = useState<Drawn | null>(null)
  const [isSource, setSource] = useState(false)
  useEffect(() => {
    let isWanted = true
    const timer = setTimeout(() => {
      void drawDiagram(source, theme === 'dark').then(result => {
        if (isWanted) setDrawn(result)
      })
    }, SETTLED_MS)
    return () => {
      isWanted = false
      clearTimeout(timer)
    }
  }, [source, theme])
  if (drawn === null || 'error' in drawn || isSource)
    return (
      <div className="diagram">
        <CodeBlock code={source} language="" label={toolsWords.mermaid} />
        {drawn !== null && 'error' in drawn && (
          <p className="faint" role="status">
            {toolsWords.diagramFailed(drawn.error)}
          </p>
        )}
        {isSource && (
          <button type="button" className="button quiet small" onClick={() => setSource(false)}>
            {toolsWords.showDiagram}
          </button>
        )}
      </div>
    )
  return (
    <figure className="diagram" data-testid="diagram">
      <img
        src={`data:image/svg+xml;charset=utf-8,${encodeURIComponent(drawn.svg)}`}
        width={widthOf(drawn.svg)}
        alt={toolsWords.diagram}
      />
      <button type="button" className="button quiet small" onClick={() => setSource(true)}>
        {toolsWords.showSource}
      </button>
    </figure>
  )
}

/** The width of the rendered SVG, in pixels. */
const widthOf = (svg: string): number | undefined => {
  const width = Number(/viewBox="[-\d.]+ [-\d.]+ ([\d.]+)/.exec(svg)?.[1])
  return Number.isFinite(width) ? Math.ceil(width) : undefined
}

type Drawn = { svg: string } | { error: string }
type Reply = Drawn & { drawing: number }

let frame: Promise<Window> | undefined
let count = 0
const waiting = new Map<number, (drawn: Drawn) => void>()

function openFrame(): Promise<Window> {
  const element = document.createElement('iframe')
  element.src = '/diagram-frame.html'
  element.className = 'diagram-frame'
  element.title = toolsWords.diagramRenderer
  element.tabIndex = -1
  element.setAttribute('aria-hidden', 'true')
  return new Promise(resolve => {
    window.addEventListener('message', ({ source, origin, data }: MessageEvent<unknown>) => {
      if (source !== element.contentWindow || origin !== location.origin || source === null) return
      // The frame sends this once it has loaded.
      if (data === 'ready') resolve(source as Window)
      else settle(data as Reply)
    })
    document.body.append(element)
  })
}

function settle({ drawing, ...drawn }: Reply): void {
  waiting.get(drawing)?.(drawn)
  waiting.delete(drawing)
}

/** Renders diagrams in a hidden frame, which the first diagram creates. */
async function drawDiagram(source: string, isDark: boolean): Promise<Drawn> {
  const page = await (frame ??= openFrame())
  const drawing = ++count
  return new Promise(resolve => {
    waiting.set(drawing, resolve)
    page.postMessage({ drawing, source, isDark }, location.origin)
  })
}
