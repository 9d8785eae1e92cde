/** Reads lines from a terminal or a pipe. Lines typed before they are requested are queued. */
import { createInterface } from 'node:readline'

export type Terminal = {
  /** The next line; null at the end of input. */
  ask(prompt: string): Promise<string | null>
  /** Sets the action of Ctrl-C. */
  onInterrupt(act: () => void): void
  close(): void
}

export function openTerminal(
  input: NodeJS.ReadStream,
  output: NodeJS.WriteStream,
  interrupted: AbortSignal,
): Terminal {
  const isTty = input.isTTY && output.isTTY
  const lines = createInterface({ input, output, terminal: isTty })
  const typed: string[] = []
  let waiting: ((line: string | null) => void) | null = null
  let isOver = false
  let act = (): void => undefined

  function give(line: string | null): void {
    const asked = waiting
    waiting = null
    asked?.(line)
  }
  lines.on('line', line => {
    if (waiting === null) typed.push(line)
    else give(line)
  })
  lines.on('close', () => {
    isOver = true
    give(null)
  })
  // On a terminal readline intercepts the key; otherwise it arrives as the signal of the process.
  lines.on('SIGINT', () => act())
  interrupted.addEventListener('abort', () => act())

  return {
    ask(prompt) {
      const line = typed.shift()
      if (line !== undefined) return Promise.resolve(line)
      if (isOver) return Promise.resolve(null)
      if (isTty) {
        lines.setPrompt(prompt)
        lines.prompt()
      }
      return new Promise(resolve => {
        waiting = resolve
      })
    },
    onInterrupt(wanted) {
      act = wanted
    },
    close: () => lines.close(),
  }
}
