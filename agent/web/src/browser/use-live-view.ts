/** A live view of a session's browser: opened with a ticket, reopened when the connection breaks. */
import { useCallback, useEffect, useRef, useState } from 'react'
import { client, describeError, isMissing } from '../api.ts'
import { followWhileVisible } from '../ui/follow-while-visible.ts'
import {
  type BrowserTab,
  type Input,
  type LiveSocket,
  openLiveSocket,
  type LiveMessage,
} from './live-socket.ts'

const AGAIN_MS = 2_000

export type LiveView = {
  state: 'connecting' | 'live' | 'none'
  tabs: readonly BrowserTab[]
  /** The id of the user in control; null: the agent. */
  holder: string | null
  yours: boolean
  dialog: { kind: string; message: string } | null
  problem: string | null
}

const NOTHING: LiveView = {
  state: 'connecting',
  tabs: [],
  holder: null,
  yours: false,
  dialog: null,
  problem: null,
}

function follow(view: LiveView, told: LiveMessage): LiveView {
  switch (told.t) {
    case 'hello':
      return { ...view, state: 'live', problem: null }
    case 'tabs':
      return { ...view, tabs: told.tabs, problem: null }
    case 'control':
      return { ...view, holder: told.holder, yours: told.yours }
    case 'dialog':
      return { ...view, dialog: { kind: told.kind, message: told.message } }
    case 'failed':
      return { ...view, problem: told.message }
    case 'bye':
      return { ...NOTHING, state: 'none' }
  }
}

/** Calls `draw` for each frame. Use one component instance for each browser. */
export function useLiveView(
  sessionId: string,
  draw: (bitmap: ImageBitmap, size: { width: number; height: number }) => void,
): { view: LiveView; say: (input: Input) => void } {
  const [view, setView] = useState(NOTHING)
  const socket = useRef<LiveSocket | null>(null)
  // A person in control keeps it while they look at another tab.
  const drives = useRef(false)
  useEffect(() => {
    drives.current = view.yours
  }, [view.yours])
  useEffect(() => {
    function start(): () => void {
      let isOver = false
      let again: ReturnType<typeof setTimeout> | undefined
      const retry = (): void => {
        if (!isOver) again = setTimeout(() => void connect(), AGAIN_MS)
      }
      async function connect(): Promise<void> {
        try {
          const { ticket } = await client.call('browserTicket', { params: { id: sessionId } })
          if (isOver) return
          socket.current = openLiveSocket(sessionId, ticket, {
            onFrame: draw,
            onMessage: told => setView(now => follow(now, told)),
            onClosed: retry,
          })
        } catch (error) {
          setView(now => ({
            ...now,
            state: isMissing(error) ? 'none' : 'connecting',
            problem: describeError(error),
          }))
          retry()
        }
      }
      void connect()
      return () => {
        isOver = true
        clearTimeout(again)
        socket.current?.close()
        socket.current = null
      }
    }
    return followWhileVisible(start, () => drives.current)
  }, [sessionId, draw])
  const say = useCallback((input: Input) => {
    if (input.t === 'dialog') setView(now => ({ ...now, dialog: null }))
    socket.current?.say(input)
  }, [])
  return { view, say }
}
