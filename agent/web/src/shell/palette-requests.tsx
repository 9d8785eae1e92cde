/**
 * What waits for the person, as entries of the palette: approvals with their decision, questions, snoozes.
 * Nothing is decided by an entry: it shows the call in full first.
 */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { Button, Heading } from 'react-aria-components'
import { type BodyOf, type InboxItem, visibleText } from '@cairn/protocol'
import { client } from '../api.ts'
import { GateArgumentsView, useGateArguments } from '../decisions/gate-arguments.tsx'
import { whyAsked } from '../decisions/why-asked.ts'
import { ItemName, nameOf, namesOf } from '../inbox/item-words.tsx'
import { SNOOZE_IDS, snoozeTime } from '../inbox/snooze.ts'
import { inboxQuery, needsAnswer } from '../queries.ts'
import { ClockIcon } from '../ui/icons.tsx'
import { say, sayError } from '../ui/toasts.tsx'
import { chatWords } from '../words/chat.ts'
import { generalWords } from '../words/general.ts'
import { inboxWords } from '../words/inbox.ts'
import { paletteWords } from '../words/palette.ts'
import type { Entry } from './palette-fit.ts'

/** Approvals and questions that are listed. The rest is in the inbox. */
const MAX_REQUESTS = 4

/** The open item of the inbox, else those of the open session and its workers, else all. Oldest first. */
function useRequests(): InboxItem[] {
  const { data = [] } = useQuery(inboxQuery('pending'))
  const { sessionId } = useParams({ strict: false })
  const { item } = useSearch({ strict: false }) as { item?: unknown }
  const waiting = data.filter(needsAnswer).toReversed()
  const open = waiting.filter(({ id }) => id === item)
  if (open.length > 0) return open
  return waiting.filter(
    each => sessionId === undefined || each.session_id === sessionId || each.root_session_id === sessionId,
  )
}

export function useRequestEntries(): Entry[] {
  const requests = useRequests()
  const navigate = useNavigate()
  const queries = useQueryClient()
  const snooze = (item: InboxItem, until: Date) =>
    client
      .call('snoozeInboxItem', { params: { item_id: item.id }, body: { until: until.toISOString() } })
      .then(() => say(inboxWords.snoozed))
      .catch(sayError)
      .finally(() => void queries.invalidateQueries({ queryKey: ['inbox'] }))
  const show = (item: InboxItem) => void navigate({ to: '/inbox', search: { item: item.id } })
  const [first] = requests
  const entries = requests.slice(0, MAX_REQUESTS).flatMap((item): Entry[] => {
    const about = {
      group: 'needs' as const,
      icon: namesOf(item).icon,
      detail: visibleText(item.session_title ?? item.agent),
    }
    if (item.kind !== 'governance_gate')
      return [
        {
          ...about,
          id: `answer ${item.id}`,
          label: paletteWords.answer(nameOf(item)),
          run: () => show(item),
        },
      ]
    return (['approve', 'reject'] as const).map(decision => ({
      ...about,
      id: `${decision} ${item.id}`,
      label: paletteWords[decision](nameOf(item)),
      step: close => <DecideRequest item={item} decision={decision} onClose={close} />,
      run: () => undefined,
    }))
  })
  const snoozes = SNOOZE_IDS.map((id): Entry => ({
    id: `snooze ${id}`,
    group: 'needs',
    icon: <ClockIcon />,
    label: paletteWords.snooze(inboxWords.snoozeTimes[id].toLowerCase()),
    detail: first === undefined ? '' : nameOf(first),
    run: () => first !== undefined && void snooze(first, snoozeTime(id, new Date())),
  }))
  return first === undefined ? entries : [...entries, ...snoozes]
}

type DecideProps = { item: InboxItem; decision: 'approve' | 'reject'; onClose: () => void }

/** The call in full, and the one decision that was chosen. */
function DecideRequest({ item, decision, onClose }: DecideProps) {
  const queries = useQueryClient()
  const shown = useGateArguments(item.payload)
  const [reason, setReason] = useState('')
  const respond = useMutation({
    mutationFn: (body: BodyOf<'respondInbox'>) =>
      client.call('respondInbox', { params: { item_id: item.id }, body }),
    onSuccess: () => say(paletteWords.decided[decision](nameOf(item))),
    onSettled: () => {
      onClose()
      return queries.invalidateQueries({ queryKey: ['inbox'] })
    },
  })
  const isApproval = decision === 'approve'
  const submit = (event: FormEvent) => {
    event.preventDefault()
    respond.mutate({
      decision,
      ...(shown.shownHash !== undefined && { shown_hash: shown.shownHash }),
      ...(reason.trim() !== '' && { reason: reason.trim() }),
    })
  }
  const why = item.payload['deny_reason']
  return (
    <form onSubmit={submit} data-testid="palette-decide">
      <Heading slot="title">
        <ItemName item={item} />
      </Heading>
      <p className="muted">
        {visibleText(item.session_title ?? item.agent)}
        {typeof why === 'string' && ` · ${visibleText(whyAsked(why))}`}
      </p>
      <GateArgumentsView {...shown} />
      {!isApproval && (
        <input
          className="input"
          aria-label={chatWords.rejectReason}
          placeholder={chatWords.rejectReasonOptional}
          maxLength={2000}
          value={reason}
          onChange={event => setReason(event.target.value)}
          autoFocus
        />
      )}
      <p className="muted">{inboxWords.final}</p>
      <div className="actions">
        <Button className="button" onPress={onClose} autoFocus={isApproval}>
          {generalWords.cancel}
        </Button>
        <Button
          className={`button ${isApproval ? 'primary' : 'danger'}`}
          type="submit"
          isDisabled={respond.isPending || (isApproval && !shown.isWhole)}
          data-testid="palette-decide-submit"
        >
          {isApproval ? chatWords.approveOnce : generalWords.reject}
        </Button>
      </div>
    </form>
  )
}
