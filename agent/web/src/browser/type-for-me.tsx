/** Typing by a text field of this page: for keyboards of phones and input methods, which send no keys. */
import { type FormEvent, useState } from 'react'
import { Button } from 'react-aria-components'
import type { Input } from './live-socket.ts'

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
      {/* Hidden as it is typed, for it may be a password; and nothing here is filled in or kept. */}
      <input
        className="input"
        type="password"
        autoComplete="off"
        aria-label="Text to type into the page"
        placeholder="Type for me"
        value={text}
        onChange={event => setText(event.target.value)}
      />
      <Button className="button" type="submit">
        Type
      </Button>
      <Button className="button" onPress={press('Tab')}>
        Tab
      </Button>
      <Button className="button" onPress={press('Enter')}>
        Enter
      </Button>
    </form>
  )
}
