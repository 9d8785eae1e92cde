/** Of which items a person is told, of whose sessions, and after what time. */
import { useQuery } from '@tanstack/react-query'
import type { AnswerOf, BodyOf, InboxKind } from '@cairn/protocol'
import { client, describeError } from '../api.ts'
import { meQuery } from '../queries.ts'
import { useNoticeChange } from './notice-queries.ts'

export type Settings = AnswerOf<'getNotices'>

const KINDS: Record<InboxKind, string> = {
  input_required: 'Questions',
  governance_gate: 'Approvals',
  action_required: 'Actions, proposals and blocked tasks',
  task_complete: 'The end of long work',
  progress_checkin: 'Progress of long work',
}
const AFTER: Readonly<Record<number, string>> = {
  0: 'at once',
  30: 'after half a minute',
  300: 'after five minutes',
  1800: 'after half an hour',
}

export function ChooseKinds({ settings: { kinds, scope, after_s } }: { settings: Settings }) {
  const { data: me } = useQuery(meQuery)
  const choose = useNoticeChange((body: BodyOf<'chooseNotices'>) => client.call('chooseNotices', { body }))
  return (
    <section className="notices-part" aria-labelledby="notices-kinds">
      <h2 id="notices-kinds">By webhook and mail, of</h2>
      <ul className="notices-kinds">
        {(Object.keys(KINDS) as InboxKind[]).map(kind => (
          <li key={kind}>
            <label>
              <input
                type="checkbox"
                data-testid={`notices-${kind}`}
                checked={kinds.includes(kind)}
                onChange={({ target }) =>
                  choose.mutate({
                    kinds: target.checked ? [...kinds, kind] : kinds.filter(each => each !== kind),
                  })
                }
              />
              {KINDS[kind]}
            </label>
          </li>
        ))}
      </ul>
      <label className="notices-field">
        When it is still open
        <select
          className="input"
          value={after_s}
          onChange={({ target }) => choose.mutate({ after_s: Number(target.value) })}
        >
          {Object.entries({ ...AFTER, ...(after_s in AFTER ? {} : { [after_s]: `after ${after_s} s` }) }).map(
            ([seconds, words]) => (
              <option key={seconds} value={seconds}>
                {words}
              </option>
            ),
          )}
        </select>
      </label>
      {me?.admin === true && (
        <label className="notices-check">
          <input
            type="checkbox"
            checked={scope === 'org'}
            onChange={({ target }) => choose.mutate({ scope: target.checked ? 'org' : 'own' })}
          />
          Of every session of the organisation, not only mine
        </label>
      )}
      {choose.error && (
        <p className="inline-error" role="alert">
          {describeError(choose.error)}
        </p>
      )}
    </section>
  )
}
