/** A question of the agent, answered in place: a choice, or words of one's own. */
import { useMutation } from '@tanstack/react-query'
import { type FormEvent, memo, useState } from 'react'
import { Button, Input, Label, Radio, RadioGroup, TextField } from 'react-aria-components'
import { visibleText } from '@cairn/protocol'
import { client } from '../api.ts'
import { ExactText } from '../ui/exact-text.tsx'
import type { ItemOf } from './chat-item.ts'

const OTHER = 'other'

export const QuestionCard = memo(function QuestionCard({
  sessionId,
  item,
}: {
  sessionId: string
  item: ItemOf<'question'>
}) {
  const state = item.responses !== null ? 'answered' : item.cancelled ? 'cancelled' : 'open'
  return (
    <section
      className="card question"
      aria-label="Question of the agent"
      data-testid="question-card"
      data-state={state}
      data-call={item.tool_call_id}
    >
      <h3>{state === 'open' ? 'The agent asks' : state === 'answered' ? 'Answered' : 'Passed over'}</h3>
      {item.context !== null && <p className="muted">{visibleText(item.context)}</p>}
      {state === 'open' ? (
        <QuestionForm sessionId={sessionId} item={item} />
      ) : (
        <dl className="answers">
          {item.questions.map(question => (
            <div key={question.prompt}>
              <dt>{visibleText(question.prompt)}</dt>
              <dd>
                {visibleText(
                  item.responses?.find(response => response.question === question.prompt)?.answer ??
                    'without an answer',
                )}
              </dd>
            </div>
          ))}
        </dl>
      )}
    </section>
  )
})

function QuestionForm({ sessionId, item }: { sessionId: string; item: ItemOf<'question'> }) {
  const [chosen, setChosen] = useState<Record<number, string>>({})
  const [written, setWritten] = useState<Record<number, string>>({})
  const answer = useMutation({
    mutationFn: (responses: { question: string; answer: string }[]) =>
      client.call('answerQuestion', {
        params: { id: sessionId, tool_call_id: item.tool_call_id },
        body: { responses },
      }),
  })
  const answerAt = (i: number): string => {
    const choices = item.questions[i]?.choices ?? []
    const pick = chosen[i]
    return choices.length === 0 || pick === OTHER
      ? (written[i] ?? '').trim()
      : pick === undefined
        ? ''
        : (choices[Number(pick)]?.label ?? '')
  }
  const isComplete = item.questions.every((_, i) => answerAt(i) !== '')
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (isComplete)
      answer.mutate(item.questions.map((question, i) => ({ question: question.prompt, answer: answerAt(i) })))
  }
  return (
    <form onSubmit={submit} className="question-form">
      {item.questions.map((question, i) => {
        const choices = question.choices ?? []
        const write = (value: string) => setWritten({ ...written, [i]: value })
        const field = <Input className="input" placeholder="Your answer" data-testid="question-text" />
        if (choices.length === 0)
          return (
            <TextField key={question.prompt} className="field" value={written[i] ?? ''} onChange={write}>
              <Label>{visibleText(question.prompt)}</Label>
              {field}
            </TextField>
          )
        return (
          <div key={question.prompt}>
            <RadioGroup
              className="choices"
              value={chosen[i] ?? null}
              onChange={value => setChosen({ ...chosen, [i]: value })}
            >
              <Label>{visibleText(question.prompt)}</Label>
              {choices.map((choice, c) => (
                <Radio key={choice.label} value={String(c)} className="choice" data-testid="question-choice">
                  <span className="choice-label">
                    <ExactText text={choice.label} />
                  </span>
                  {choice.description !== undefined && (
                    <span className="choice-about">{visibleText(choice.description)}</span>
                  )}
                </Radio>
              ))}
              {question.allow_other !== false && (
                <Radio value={OTHER} className="choice" data-testid="question-other">
                  <span className="choice-label">Something else</span>
                </Radio>
              )}
            </RadioGroup>
            {chosen[i] === OTHER && (
              <TextField
                className="field"
                aria-label="Your own answer"
                value={written[i] ?? ''}
                onChange={write}
                autoFocus
              >
                {field}
              </TextField>
            )}
          </div>
        )
      })}
      <div className="actions">
        <Button
          className="button primary"
          type="submit"
          isDisabled={!isComplete || answer.isPending}
          data-testid="question-submit"
        >
          Answer
        </Button>
      </div>
    </form>
  )
}
