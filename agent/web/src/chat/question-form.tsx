/** The fields of a question, in the chat and in the inbox: its choices, or free text. */
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { Button, Input, Label, Radio, RadioGroup, TextField } from 'react-aria-components'
import { type Question, visibleText } from '@cairn/protocol'
import { client } from '../api.ts'
import { ExactText } from '../ui/exact-text.tsx'
import './question-form.css'
import { generalWords } from '../words/general.ts'
import { chatWords } from '../words/chat.ts'

const OTHER = 'other'

/** The choice and the text that were entered for one question. */
type Entry = { pick: string | null; written: string }
const NO_ENTRY: Entry = { pick: null, written: '' }

/** The answer of an entry; empty if there is none yet. */
function answerOf({ choices = [] }: Question, { pick, written }: Entry): string {
  if (choices.length === 0 || pick === OTHER) return written.trim()
  return pick === null ? '' : (choices[Number(pick)]?.label ?? '')
}

type FormProps = {
  sessionId: string
  callId: string
  questions: readonly Question[]
  /** The text above the form. A question with the same text is hidden visually, not from screen readers. */
  saidAbove?: string
  /** Called after the answer was accepted. */
  onAnswered?: () => void
}

export function QuestionForm({ sessionId, callId, questions, saidAbove, onAnswered }: FormProps) {
  const queries = useQueryClient()
  const [entries, setEntries] = useState<Record<number, Entry>>({})
  const answer = useMutation({
    mutationFn: (responses: { question: string; answer: string }[]) =>
      client.call('answerQuestion', {
        params: { id: sessionId, tool_call_id: callId },
        body: { responses },
      }),
    ...(onAnswered !== undefined && { onSuccess: onAnswered }),
    onSettled: () => queries.invalidateQueries({ queryKey: ['inbox'] }),
  })
  const responses = questions.map((question, i) => ({
    question: question.prompt,
    answer: answerOf(question, entries[i] ?? NO_ENTRY),
  }))
  const isComplete = responses.every(({ answer }) => answer !== '')
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (isComplete) answer.mutate(responses)
  }
  return (
    <form onSubmit={submit} className="question-form">
      {questions.map((question, i) => (
        <QuestionField
          key={question.prompt}
          question={question}
          isSaidAbove={question.prompt === saidAbove}
          isNumbered={questions.length === 1}
          entry={entries[i] ?? NO_ENTRY}
          onChange={entry => setEntries({ ...entries, [i]: entry })}
        />
      ))}
      <div className="actions">
        <Button
          className="button primary"
          type="submit"
          isDisabled={!isComplete || answer.isPending}
          data-testid="question-submit"
        >
          {generalWords.answer}
        </Button>
      </div>
    </form>
  )
}

type FieldProps = {
  question: Question
  isSaidAbove: boolean
  /** Whether a number chooses; with several questions it would not say which one it answers. */
  isNumbered: boolean
  entry: Entry
  onChange: (entry: Entry) => void
}

function QuestionField({ question, isSaidAbove, isNumbered, entry, onChange }: FieldProps) {
  const write = (written: string) => onChange({ ...entry, written })
  const field = <Input className="input" placeholder={chatWords.yourAnswer} data-testid="question-text" />
  const label = (
    <Label className={isSaidAbove ? 'visually-hidden' : undefined}>{visibleText(question.prompt)}</Label>
  )
  const { choices = [] } = question
  if (choices.length === 0)
    return (
      <TextField className="field" value={entry.written} onChange={write}>
        {label}
        {field}
      </TextField>
    )
  return (
    <div>
      <RadioGroup className="choices" value={entry.pick} onChange={pick => onChange({ ...entry, pick })}>
        {label}
        {choices.map((choice, c) => (
          <Radio key={choice.label} value={String(c)} className="choice" data-testid="question-choice">
            <span className="choice-label">
              {isNumbered && c < 9 && <kbd aria-hidden="true">{c + 1}</kbd>}
              <ExactText text={choice.label} />
            </span>
            {choice.description !== undefined && (
              <span className="choice-about">{visibleText(choice.description)}</span>
            )}
          </Radio>
        ))}
        {question.allow_other !== false && (
          <Radio value={OTHER} className="choice" data-testid="question-other">
            <span className="choice-label">{chatWords.otherAnswer}</span>
          </Radio>
        )}
      </RadioGroup>
      {entry.pick === OTHER && (
        <TextField
          className="field"
          aria-label={chatWords.yourAnswer}
          value={entry.written}
          onChange={write}
          autoFocus
        >
          {field}
        </TextField>
      )}
    </div>
  )
}
