/** Approves or rejects by button or by the keys A and R; a rejection may include a reason. */
import { type FormEvent, useEffect, useRef, useState } from 'react'
import { Button } from 'react-aria-components'
import { TAKES_KEYS } from '../ui/takes-keys.ts'
import { chatWords } from '../words/chat.ts'
import { generalWords } from '../words/general.ts'

type Props = {
  /** Texts of the buttons, if not those for one call. */
  approve?: string
  reject?: string
  canApprove: boolean
  canReject: boolean
  onApprove: () => void
  onReject: (reason?: string) => void
}

export function Decide({
  approve = chatWords.approveOnce,
  reject = chatWords.rejectMore,
  canApprove,
  canReject,
  onApprove,
  onReject,
}: Props) {
  const [isRejecting, setRejecting] = useState(false)
  const actions = useRef<HTMLDivElement>(null)
  useDecisionKeys(actions, {
    a: canApprove && !isRejecting ? onApprove : null,
    r: canReject ? () => setRejecting(true) : null,
  })
  return (
    <div className="actions" ref={actions} data-decide>
      {isRejecting ? (
        <RejectForm canReject={canReject} onReject={onReject} onCancel={() => setRejecting(false)} />
      ) : (
        <>
          <Button
            className="button danger"
            isDisabled={!canReject}
            onPress={() => setRejecting(true)}
            aria-keyshortcuts="R"
            data-testid="reject"
          >
            {reject} <kbd>R</kbd>
          </Button>
          <Button
            className="button primary"
            isDisabled={!canApprove}
            onPress={onApprove}
            aria-keyshortcuts="A"
            data-testid="approve"
          >
            {approve} <kbd>A</kbd>
          </Button>
        </>
      )}
    </div>
  )
}

type FormProps = { canReject: boolean; onReject: (reason?: string) => void; onCancel: () => void }

function RejectForm({ canReject, onReject, onCancel }: FormProps) {
  const field = useRef<HTMLInputElement>(null)
  useEffect(() => field.current?.focus(), [])
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const reason = String(new FormData(event.currentTarget).get('reason')).trim()
    onReject(reason === '' ? undefined : reason)
  }
  return (
    <form className="reject-form" onSubmit={submit}>
      <input
        ref={field}
        className="input"
        name="reason"
        maxLength={2000}
        onKeyDown={event => {
          if (event.key === 'Escape') onCancel()
        }}
        aria-label={chatWords.rejectReason}
        placeholder={chatWords.rejectReasonOptional}
        data-testid="reject-reason"
      />
      <Button className="button" onPress={onCancel}>
        {generalWords.cancel}
      </Button>
      <Button className="button danger" type="submit" isDisabled={!canReject} data-testid="reject-send">
        {generalWords.reject}
      </Button>
    </form>
  )
}

/**
 * Only the last approval on the page gets the keys, and not while a person types, so one key never decides
 * two.
 */
function useDecisionKeys(
  actions: { current: HTMLElement | null },
  keys: Readonly<Record<string, (() => void) | null>>,
): void {
  const now = useRef(keys)
  useEffect(() => {
    now.current = keys
  })
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement
      if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || target.closest(TAKES_KEYS)) return
      if ([...document.querySelectorAll('[data-decide]')].at(-1) !== actions.current) return
      const act = now.current[event.key.toLowerCase()]
      if (!act) return
      event.preventDefault()
      act()
    }
    document.addEventListener('keydown', listen)
    return () => document.removeEventListener('keydown', listen)
  }, [actions])
}
