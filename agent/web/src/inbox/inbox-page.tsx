/** Everything agents have raised to a person, across sessions. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { Button, ToggleButton, ToggleButtonGroup } from 'react-aria-components'
import { type InboxItem, type InboxKind, visibleText } from '@cairn/protocol'
import { client, describeError } from '../api.ts'
import { formatAgo } from '../format.ts'
import { type InboxScope, inboxQuery, needsAnswer } from '../queries.ts'
import { BackIcon, InboxIcon } from '../ui/icons.tsx'
import { useNow } from '../ui/use-now.ts'
import { GateArgumentsView, useGateArguments } from '../decisions/gate-arguments.tsx'
import { ProposalButtons, proposedSkill, SkillText } from '../decisions/proposal.tsx'
import { FromWorker } from './from-worker.tsx'
import { Outcome } from './outcome.tsx'
import './inbox.css'

const KINDS: Record<InboxKind, string> = {
  input_required: 'Question',
  action_required: 'Action',
  governance_gate: 'Approval',
  task_complete: 'Finished',
  progress_checkin: 'Progress',
}

export function InboxPage() {
  const [scope, setScope] = useState<InboxScope>('pending')
  const { data: items, error } = useQuery(inboxQuery(scope))
  const now = useNow(20_000)
  const sorted = (items ?? []).toSorted((a, b) => Number(needsAnswer(b)) - Number(needsAnswer(a)))
  return (
    <div className="inbox">
      <header className="page-head">
        <Link to="/sessions" className="button quiet square back" aria-label="Back to the sessions">
          <BackIcon />
        </Link>
        <h1>Inbox</h1>
        <ToggleButtonGroup
          className="segments"
          aria-label="Which items"
          selectionMode="single"
          disallowEmptySelection
          selectedKeys={[scope]}
          onSelectionChange={([key]) => setScope(key === 'all' ? 'all' : 'pending')}
        >
          <ToggleButton className="segment" id="pending">
            Waiting
          </ToggleButton>
          <ToggleButton className="segment" id="all" data-testid="inbox-all">
            All
          </ToggleButton>
        </ToggleButtonGroup>
      </header>
      <div className="inbox-scroll">
        {error && (
          <p className="inline-error" role="alert">
            {describeError(error)}
          </p>
        )}
        <ul className="inbox-list" data-testid="inbox-list">
          {sorted.map(item => (
            <Item key={item.id} item={item} now={now} />
          ))}
        </ul>
        {items?.length === 0 && (
          <div className="empty">
            <InboxIcon />
            <h2>{scope === 'pending' ? 'Nothing waits for you' : 'Nothing was raised yet'}</h2>
            <p>Questions, approvals and news of your agents come here.</p>
          </div>
        )}
      </div>
    </div>
  )
}

function Item({ item, now }: { item: InboxItem; now: number }) {
  const queries = useQueryClient()
  const refresh = () => queries.invalidateQueries({ queryKey: ['inbox'] })
  const respond = useMutation({
    mutationFn: (body: { decision: 'approve' | 'reject'; shown_hash?: string } | { completed: true }) =>
      client.call('respondInbox', { params: { item_id: item.id }, body }),
    onSettled: refresh,
  })
  const acknowledge = useMutation({
    mutationFn: () => client.call('ackInboxItem', { params: { item_id: item.id } }),
    onSettled: refresh,
  })
  const read = useMutation({
    mutationFn: () => client.call('readInboxItem', { params: { item_id: item.id } }),
    onSettled: refresh,
  })
  const isOpen = item.status === 'pending'
  const skill = proposedSkill(item)
  const { deny_reason: reason } = item.payload
  const shown = useGateArguments(item.payload)
  // The body of a gate is its arguments, which are shown below as they are.
  const text = item.kind === 'governance_gate' && typeof reason === 'string' ? reason : item.body
  const isBusy = respond.isPending || acknowledge.isPending
  return (
    <li
      className="inbox-item"
      data-testid="inbox-item"
      data-kind={item.kind}
      data-status={item.status}
      data-unread={item.read_at === null || undefined}
    >
      <header>
        <span className={`badge${needsAnswer(item) ? ' waiting' : ''}`}>
          {skill === null ? KINDS[item.kind] : 'Proposal'}
        </span>
        <h2>{visibleText(item.title)}</h2>
        <time className="faint" dateTime={item.created_at}>
          {formatAgo(item.created_at, now)}
        </time>
      </header>
      {item.root_session_id !== item.session_id && <FromWorker item={item} />}
      {text !== null && text !== '' && <p className="inbox-body">{visibleText(text)}</p>}
      {item.kind === 'governance_gate' && <GateArgumentsView {...shown} />}
      {skill !== null && <SkillText skill={skill} />}
      <footer>
        <Link
          className="json-link"
          to="/sessions/$sessionId"
          params={{ sessionId: item.session_id }}
          onClick={() => {
            if (item.read_at === null) read.mutate()
          }}
        >
          Open the session
        </Link>
        <Link
          className="json-link"
          to="/sessions/$sessionId/events"
          params={{ sessionId: item.session_id }}
          search={{ id: item.source_event_id }}
        >
          event {item.source_event_id}
        </Link>
        <span className="inbox-buttons">
          {!isOpen && <Outcome item={item} />}
          {isOpen && item.kind === 'governance_gate' && (
            <>
              <Button
                className="button danger"
                isDisabled={isBusy}
                onPress={() => respond.mutate({ decision: 'reject' })}
                data-testid="reject"
              >
                Reject
              </Button>
              <Button
                className="button primary"
                isDisabled={isBusy || !shown.isWhole}
                onPress={() =>
                  respond.mutate({
                    decision: 'approve',
                    ...(shown.shownHash !== undefined && { shown_hash: shown.shownHash }),
                  })
                }
                data-testid="approve"
              >
                Approve once
              </Button>
            </>
          )}
          {isOpen && skill !== null && <ProposalButtons item={item} />}
          {isOpen && item.kind === 'action_required' && skill === null && (
            <Button
              className="button primary"
              isDisabled={isBusy}
              onPress={() => respond.mutate({ completed: true })}
              data-testid="complete-action"
            >
              Done
            </Button>
          )}
          {isOpen && item.kind === 'input_required' && (
            <Link
              className="button primary"
              to="/sessions/$sessionId"
              params={{ sessionId: item.session_id }}
            >
              Answer
            </Link>
          )}
          {isOpen && (item.kind === 'task_complete' || item.kind === 'progress_checkin') && (
            <Button
              className="button"
              isDisabled={isBusy}
              onPress={() => acknowledge.mutate()}
              data-testid="acknowledge"
            >
              Acknowledge
            </Button>
          )}
        </span>
      </footer>
    </li>
  )
}
