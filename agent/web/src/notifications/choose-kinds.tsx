/** The items that send a notification: their kinds, the sessions, and the delay. */
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { AnswerOf, BodyOf, InboxKind } from '@cairn/protocol'
import { client, describeError } from '../api.ts'
import { meQuery } from '../queries.ts'
import { useNotificationChange } from './notification-queries.ts'
import { optionsOf, Picker } from '../ui/picker.tsx'
import { notificationsWords } from '../words/notifications.ts'

export type Settings = AnswerOf<'getNotices'>
type Wish = BodyOf<'chooseNotices'>

const KINDS = notificationsWords.kinds
const AFTER: Readonly<Record<number, string>> = notificationsWords.delays

export function ChooseKinds({ settings }: { settings: Settings }) {
  const { data: me } = useQuery(meQuery)
  const change = useNotificationChange((body: Wish) => client.call('chooseNotices', { body }))
  // The person's choice, shown until the server has stored it.
  const [wish, setWish] = useState<Wish>({})
  const choose = (more: Wish) => {
    const wanted = { ...wish, ...more }
    setWish(wanted)
    change.mutate(wanted, { onSettled: () => setWish({}) })
  }
  const { kinds = settings.kinds, scope = settings.scope, after_s = settings.after_s } = wish
  return (
    <section className="notices-part" aria-labelledby="notices-kinds">
      <h2 id="notices-kinds">{notificationsWords.notifyAbout}</h2>
      <ul className="notices-kinds">
        {(Object.keys(KINDS) as InboxKind[]).map(kind => (
          <li key={kind}>
            <label>
              <input
                type="checkbox"
                data-testid={`notices-${kind}`}
                checked={kinds.includes(kind)}
                onChange={({ target }) =>
                  choose({
                    kinds: target.checked ? [...kinds, kind] : kinds.filter(each => each !== kind),
                  })
                }
              />
              {KINDS[kind]}
            </label>
          </li>
        ))}
      </ul>
      <Picker
        className="notices-field"
        label={notificationsWords.ifStillOpen}
        isLabelShown
        options={optionsOf<string>({
          ...AFTER,
          ...(after_s in AFTER ? {} : { [after_s]: notificationsWords.afterSeconds(after_s) }),
        })}
        value={String(after_s)}
        onChange={seconds => choose({ after_s: Number(seconds) })}
      />
      {me?.admin === true && (
        <label className="notices-check">
          <input
            type="checkbox"
            checked={scope === 'org'}
            onChange={({ target }) => choose({ scope: target.checked ? 'org' : 'own' })}
          />
          {notificationsWords.wholeOrganisation}
        </label>
      )}
      {change.error && (
        <p className="inline-error" role="alert">
          {describeError(change.error)}
        </p>
      )}
    </section>
  )
}
