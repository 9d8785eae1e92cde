/** Renders diagrams in a hidden frame, which the first diagram creates. */
import { toolsWords } from '../words/tools.ts'

export type Drawn = { svg: string } | { error: string }
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

export async function drawDiagram(source: string, isDark: boolean): Promise<Drawn> {
  const page = await (frame ??= openFrame())
  const drawing = ++count
  return new Promise(resolve => {
    waiting.set(drawing, resolve)
    page.postMessage({ drawing, source, isDark }, location.origin)
  })
}
