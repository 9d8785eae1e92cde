/** A text field that types into the page: for phone keyboards and input methods, which send no key events. */
import { type FormEvent, useState } from 'react'
import { Button } from 'react-aria-components'
import type { Input } from './live-socket.ts'
import { browserWords } from '../words/browser.ts'

export function TypeForMe({ say }: { say(input: Input): void }) {
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
