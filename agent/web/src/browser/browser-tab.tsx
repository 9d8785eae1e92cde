/** The live view of a session's browser, and its controls. */
import { useQuery } from '@tanstack/react-query'
import { useCallback, useRef, type FormEvent, useState } from 'react'
import { Button } from 'react-aria-components'
import { client, describeError, isMissing } from '../api.ts'
import { BrowserBar } from './browser-bar.tsx'
import { BrowserControl } from './browser-control.tsx'
import { FilmStrip } from './film-strip.tsx'
import { LivePicture } from './live-picture.tsx'
import { useLiveView } from './use-live-view.ts'
import { Empty } from '../ui/empty.tsx'
import { WebIcon } from '../ui/page-icons.tsx'
import './browser.css'
import { generalWords } from '../words/general.ts'
import { browserWords } from '../words/browser.ts'
import type { FollowedSession } from '../session/followed-session.ts'
import type { Input } from './live-socket.ts'

const LOOK_MS = 3_000

export function BrowserTab({ log }: { log: FollowedSession }) {
  const sessionId = log.id
  const { data, error } = useQuery({
    queryKey: ['browser', sessionId],
    queryFn: () => client.call('getBrowser', { params: { id: sessionId } }),
    refetchInterval: LOOK_MS,
    retry: false,
  })
  if (error !== null && !isMissing(error))
    return (
      <p className="empty" role="alert">
        {describeError(error)}
      </p>
    )
  if (error !== null) return <NoBrowser log={log} />
  if (data === undefined) return <p className="empty">{generalWords.loading}</p>
  return <OpenBrowser key={data.browser_id} log={log} holderName={data.holder?.name ?? null} />
}

const NoBrowser = ({ log }: { log: FollowedSession }) => (
  <section className="browser" aria-label={browserWords.browser}>
    <Empty testId="no-browser" icon={<WebIcon />} title={browserWords.closed}>
      <p>{browserWords.closedText}</p>
    </Empty>
    <FilmStrip log={log} />
  </section>
)

function OpenBrowser({ log, holderName }: { log: FollowedSession; holderName: string | null }) {
  const sessionId = log.id
  const canvas = useRef<HTMLCanvasElement | null>(null)
  const size = useRef({ width: 1280, height: 800 })
  const draw = useCallback((bitmap: ImageBitmap, now: { width: number; height: number }) => {
    const element = canvas.current
    if (element === null) return
    size.current = now
    if (element.width !== bitmap.width) element.width = bitmap.width
    if (element.height !== bitmap.height) element.height = bitmap.height
    element.getContext('2d')?.drawImage(bitmap, 0, 0)
    element.dataset['drawn'] = 'true'
    bitmap.close()
  }, [])
  const { view, say } = useLiveView(sessionId, draw)
  if (view.state === 'none') return <NoBrowser log={log} />
  const front = view.tabs.find(tab => tab.front)
  return (
    <section className="browser" aria-label={browserWords.browser} data-yours={view.yours || undefined}>
      <BrowserControl sessionId={sessionId} view={view} holderName={holderName} />
      <BrowserBar tabs={view.tabs} drives={view.yours} say={say} />
      {view.dialog !== null && view.yours && (
        <div className="browser-dialog" role="alertdialog" aria-label={browserWords.dialog}>
          <p>{view.dialog.message}</p>
          <Button className="button" onPress={() => say({ t: 'dialog', accept: false })}>
            {generalWords.cancel}
          </Button>
          <Button className="button primary" onPress={() => say({ t: 'dialog', accept: true })}>
            {browserWords.ok}
          </Button>
        </div>
      )}
      {view.problem !== null && (
        <p className="browser-problem" role="alert">
          {view.problem}
        </p>
      )}
      <div className="browser-picture">
        <LivePicture canvas={canvas} size={size} drives={view.yours} title={front?.title ?? ''} say={say} />
      </div>
      {view.yours && <TypeForMe say={say} />}
      <FilmStrip log={log} />
    </section>
  )
}

/** A text field that types into the page: for phone keyboards and input methods, which send no key events. */
function TypeForMe({ say }: { say(input: Input): void }) {
  const [text, setText] = useState('')
  const send = (event: FormEvent) => {
    event.preventDefault()
    if (text !== '') say({ t: 'paste', text })
    setText('')
  }
  const press = (key: string) => () => {
    for (const kind of ['down', 'up']) say({ t: 'key', kind, key, code: key, text: '', mods: 0 })
  }
  return (
    <form className="type-for-me" onSubmit={send} autoComplete="off">
      {/* Masked because it may be a password; autofill is off. */}
      <input
        className="input"
        type="password"
        autoComplete="off"
        aria-label={browserWords.typeField}
        placeholder={browserWords.typeInto}
        value={text}
        onChange={event => setText(event.target.value)}
      />
      <Button className="button" type="submit">
        {browserWords.type}
      </Button>
      <Button className="button" onPress={press('Tab')}>
        {browserWords.tabKey}
      </Button>
      <Button className="button" onPress={press('Enter')}>
        {browserWords.enterKey}
      </Button>
    </form>
  )
}
