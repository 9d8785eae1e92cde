/** The bar above the picture: the browser's tabs, the address, and the back, forward and open buttons. */
import { type FormEvent, useState } from 'react'
import { Button } from 'react-aria-components'
import type { BrowserTab, Input } from './live-socket.ts'
import { browserWords } from '../words/browser.ts'

type Props = { tabs: readonly BrowserTab[]; drives: boolean; say(input: Input): void }

export function BrowserBar({ tabs, drives, say }: Props) {
  const front = tabs.find(tab => tab.front)
  return (
    <div className="browser-bar">
      {tabs.length > 1 && (
        <ul className="browser-tabs" aria-label={browserWords.tabs}>
          {tabs.map((tab, index) => (
            <li key={index}>
              <Button
                className="button quiet"
                isDisabled={!drives}
                aria-current={tab.front}
                onPress={() => say({ t: 'tab', action: 'show', index })}
              >
                {tab.title || tab.url || browserWords.newTab}
              </Button>
            </li>
          ))}
        </ul>
      )}
      <div className="browser-place">
        {drives && (
          <>
            <Button
              className="button quiet square"
              aria-label={browserWords.back}
              onPress={() => say({ t: 'nav', action: 'back' })}
            >
              ←
            </Button>
            <Button
              className="button quiet square"
              aria-label={browserWords.forward}
              onPress={() => say({ t: 'nav', action: 'forward' })}
            >
              →
            </Button>
            <Button
              className="button quiet square"
              aria-label={browserWords.reload}
              onPress={() => say({ t: 'nav', action: 'reload' })}
            >
              ↻
            </Button>
          </>
        )}
        {drives ? (
          <Address key={front?.url ?? ''} url={front?.url ?? ''} say={say} />
        ) : (
          <span className="browser-url" data-testid="browser-url">
            {front?.url ?? ''}
          </span>
        )}
      </div>
    </div>
  )
}

function Address({ url, say }: { url: string; say(input: Input): void }) {
  const [text, setText] = useState(url)
  const go = (event: FormEvent) => {
    event.preventDefault()
    say({ t: 'go', url: /^[a-z]+:/i.test(text) ? text : `https://${text}` })
  }
  return (
    <form className="browser-address" onSubmit={go}>
      <input
        className="input"
        aria-label={browserWords.address}
        value={text}
        spellCheck={false}
        onChange={event => setText(event.target.value)}
      />
    </form>
  )
}
