/**
 * The person's email address for notifications. It receives only a code until the person enters that code.
 */
import { type ReactNode, useState } from 'react'
import { Button } from 'react-aria-components'
import { visibleText } from '@cairn/protocol'
import { client, describeError } from '../api.ts'
import type { Settings } from './choose-kinds.tsx'
import { useNotificationChange } from './notification-queries.ts'
import { TestButton } from './test-button.tsx'
import { notificationsWords } from '../words/notifications.ts'
import { generalWords } from '../words/general.ts'

export function EmailSection({ settings: { mail, offers } }: { settings: Settings }) {
  const set = useNotificationChange((address: string) => client.call('setNoticeMail', { body: { address } }))
  const confirm = useNotificationChange((code: string) =>
    client.call('confirmNoticeMail', { body: { code } }),
  )
  const end = useNotificationChange(() => client.call('endNoticeMail'))
  const failure = set.error ?? confirm.error ?? end.error
  return (
    <section className="notices-part" aria-labelledby="notices-mail">
      <h2 id="notices-mail">{notificationsWords.email}</h2>
      {mail === null ? (
        <p className="muted">{offers.mail ? generalWords.off : notificationsWords.noMailServer}</p>
      ) : (
        <p data-testid="mail-address">
          <span className="mono notices-to">{visibleText(mail.address)}</span>
          {!mail.confirmed && ` ${notificationsWords.unconfirmed}`}
        </p>
      )}
      {mail === null && offers.mail && (
        <OneField
          label={notificationsWords.emailAddress}
          type="email"
          submit={notificationsWords.sendCode}
          onSubmit={set.mutate}
          id="mail-set"
        />
      )}
      {mail?.confirmed === false && (
        <OneField
          label={notificationsWords.code}
          type="text"
          submit={notificationsWords.confirm}
          onSubmit={confirm.mutate}
          id="mail-code"
        />
      )}
      {mail !== null && (
        <div className="notices-buttons">
          {mail.confirmed && <TestButton way="mail" />}
          <Button className="button danger" isDisabled={end.isPending} onPress={() => end.mutate()}>
            {generalWords.turnOff}
          </Button>
        </div>
      )}
      {failure && (
        <p className="inline-error" role="alert">
          {describeError(failure)}
        </p>
      )}
    </section>
  )
}

type FieldProps = {
  id: string
  label: string
  type: 'email' | 'text'
  submit: ReactNode
  onSubmit: (text: string) => void
}
function OneField({ id, label, type, submit, onSubmit }: FieldProps) {
  const [text, setText] = useState('')
  return (
    <form
      className="notices-form"
      onSubmit={event => {
        event.preventDefault()
        onSubmit(text.trim())
      }}
    >
      <label className="notices-field">
        {label}
        <input
          className="input"
          type={type}
          required
          autoComplete={type === 'email' ? 'email' : 'one-time-code'}
          data-testid={id}
          value={text}
          onChange={({ target }) => setText(target.value)}
        />
      </label>
      <Button type="submit" className="button primary" data-testid={`${id}-submit`}>
        {submit}
      </Button>
    </form>
  )
}
