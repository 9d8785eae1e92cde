/** The state of the composer, and the actions of its keys and buttons. */
import { type KeyboardEvent, useRef, useState } from 'react'
import type { Question } from '@cairn/protocol'
import { type UnknownCommand, unknownCommand } from '@cairn/state'
import { choiceOf } from './choice.ts'
import { recall } from './recall.ts'
import { useAttachments } from './use-attachments.ts'
import { useCompletion } from './use-completion.ts'
import { useDraft } from './use-draft.ts'
import { type Sent, useSendMessage } from './use-send-message.ts'
import { useMutation, useQuery } from '@tanstack/react-query'
import { client } from '../api.ts'
import { aboutQuery } from '../queries.ts'

export type Asked = { callId: string; questions: readonly Question[] }
export type ComposerProps = {
  sessionId: string
  isRunning: boolean
  /** The agent's open question; typed text answers it. */
  asked: Asked | null
  isArchived: boolean
  hint: string
  /** What the person wrote before, oldest first. */
  said: readonly string[]
  /** Whether the page receives events from the server. */
  isConnected: boolean
  onSent: () => void
}

export function useComposer({ sessionId, isRunning, asked, said, isConnected, onSent }: ComposerProps) {
  const [draft, field] = useDraft(sessionId)
  const files = useAttachments(sessionId)
  const completion = useCompletion(sessionId, draft, draft.change)
  const history = useRecall(said, draft.text, draft.change)
  const stop = useStop(sessionId)
  const send = useSendMessage(sessionId, () => {
    draft.change('', 0)
    files.clear()
    history.leave()
    onSent()
  })
  const choice = choiceOf(asked?.questions ?? [], draft.text)
  const isEmpty = draft.text.trim() === '' || send.isPending || files.isReading
  const { data: about } = useQuery(aboutQuery)
  const [held, setHeld] = useState<Held | null>(null)
  const submit = (on_question: Sent['on_question'], asText = false) => {
    const content = draft.text.trim()
    if (isEmpty) return
    const skills = about?.skills.map(({ name }) => name)
    const unknown = asText || choice !== null || skills === undefined ? null : unknownCommand(content, skills)
    setHeld(unknown && { ...unknown, text: draft.text, on_question })
    if (unknown !== null) return
    send.mutate(
      on_question === 'answer'
        ? { content: choice ?? content, on_question }
        : { content, on_question, ...files.carried() },
    )
  }
  // Text that was written before the question appeared must not become its answer.
  const submitAsShown = () => submit(asked === null ? 'refuse' : 'answer')
  const onKeyDown = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    // An input method uses Enter to choose a word.
    if (completion.onKeyDown(event) || event.nativeEvent.isComposing) return
    if (event.key === 'Enter' && !event.shiftKey) {
      event.preventDefault()
      submitAsShown()
    } else if (event.key === 'Escape' && isRunning && isConnected) stop.mutate()
    else if (history.onKey(event.key)) event.preventDefault()
  }
  const write = (text: string, caret: number) => {
    history.leave()
    draft.change(text, caret)
  }
  return {
    draft,
    field,
    files,
    completion,
    choice,
    isEmpty,
    // A change of the text withdraws the attempt to send it.
    held: held?.text === draft.text ? held : null,
    submit,
    submitAsShown,
    onKeyDown,
    write,
    stop,
  }
}

/** A message that was not sent because it begins with an unknown command. */
type Held = UnknownCommand & { text: string; on_question: Sent['on_question'] }

/** Arrow up in an empty field recalls earlier messages, arrow down returns. */
function useRecall(
  said: readonly string[],
  text: string,
  change: (text: string, caret: number) => void,
): { onKey: (key: string) => boolean; leave: () => void } {
  const place = useRef({ at: 0, draft: '' })
  const go = (by: 1 | -1): boolean => {
    const found = recall(said, place.current, by)
    if (found === null) return false
    place.current = found.next
    change(found.text, found.text.length)
    return true
  }
  return {
    onKey(key) {
      if (key === 'ArrowUp' && (text === '' || place.current.at > 0)) return go(1)
      return key === 'ArrowDown' && place.current.at > 0 && go(-1)
    },
    leave() {
      place.current = { at: 0, draft: '' }
    },
  }
}

const useStop = (sessionId: string) =>
  useMutation({ mutationFn: () => client.call('stopSession', { params: { id: sessionId } }) })
